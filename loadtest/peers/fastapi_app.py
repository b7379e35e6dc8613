"""FastAPI on uvicorn, with the micro-batching that people write for it: a queue, and a thread that computes what is in it.
usage: fastapi_app.py PORT"""

import asyncio
import concurrent.futures
import contextlib
import sys

import fastapi
import uvicorn
from common import BATCH_SIZE, Model, use_core

queue = asyncio.Queue()


async def batches():
    """Work-conserving, as weir is: what has come while a batch ran is the next one."""
    loop = asyncio.get_running_loop()
    with concurrent.futures.ThreadPoolExecutor(1, initializer=use_core, initargs=("COMPUTE_CORE",)) as pool:
        model = await loop.run_in_executor(pool, Model)
        while True:
            group = [await queue.get()]
            while len(group) < BATCH_SIZE and not queue.empty():
                group.append(queue.get_nowait())
            try:
                answers = await loop.run_in_executor(pool, model.predict, [request for request, _ in group])
            except Exception as error:  # the requests of this batch fail, the server goes on
                for _, future in group:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), answer in zip(group, answers):
                if not future.done():
                    future.set_result(answer)


@contextlib.asynccontextmanager
async def life(app):
    task = asyncio.create_task(batches())
    yield
    task.cancel()


app = fastapi.FastAPI(lifespan=life)


@app.post("/predict")
async def predict(request: fastapi.Request):
    future = asyncio.get_running_loop().create_future()
    queue.put_nowait((await request.json(), future))
    return fastapi.responses.JSONResponse(await future)


if __name__ == "__main__":
    use_core("OTHER_CORE")
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
