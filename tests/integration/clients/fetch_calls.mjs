// Calls a server by node's fetch. usage: node fetch_calls.mjs HOST:PORT < the rows of pixels as JSON
import { readFileSync } from "node:fs";

const base = "http://" + process.argv[2];
const rows = JSON.parse(readFileSync(0, "utf8"));
const input = { name: "pixels", shape: [1, 64], datatype: "FP32", data: rows[0] };
let good = true;

const json = { "Content-Type": "application/json" };
const post = (path, body, headers = json) => fetch(base + path, { method: "POST", body, headers });
const expect = (got, wanted) => {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) {
    throw new Error(JSON.stringify(got) + ", expected " + JSON.stringify(wanted));
  }
};

async function call(text, make) {
  try {
    await make();
    console.log("ok node fetch: " + text);
  } catch (error) {
    console.log("FAIL node fetch: " + text + ": " + error.message.slice(0, 300));
    good = false;
  }
}

const wanted = (await (await post("/predict", JSON.stringify({ instances: [rows[0]] }))).json()).predictions[0];

await call("health and metadata", async () => {
  expect((await (await fetch(base + "/v2/health/ready")).json()).ready, true);
  expect((await (await fetch(base + "/v2/models/digits")).json()).inputs[0].shape, [-1, 64]);
});
await call("infer, JSON both ways, answer compressed as fetch asks for it", async () => {
  const answer = await post("/v2/models/digits/infer", JSON.stringify({ id: "7", inputs: [input] }));
  expect([answer.status, answer.headers.get("content-type")], [200, "application/json"]);
  const body = await answer.json();
  expect([body.id, body.outputs[0].data], ["7", wanted]);
});
await call("infer, binary both ways", async () => {
  const head = { inputs: [{ name: "pixels", shape: [1, 64], datatype: "FP32", parameters: { binary_data_size: 256 } }],
    parameters: { binary_data_output: true } };
  const text = new TextEncoder().encode(JSON.stringify(head));
  const body = new Uint8Array(text.length + 256);
  body.set(text);
  body.set(new Uint8Array(Float32Array.from(rows[0]).buffer), text.length);
  const answer = await post("/v2/models/digits/infer", body, { "Inference-Header-Content-Length": String(text.length) });
  const bytes = await answer.arrayBuffer();
  const size = Number(answer.headers.get("inference-header-content-length"));
  expect(Array.from(new Float32Array(bytes.slice(size))), Array.from(Float32Array.from(wanted)));
});
await call("V1 predict, rows and columns", async () => {
  const one = await (await post("/v1/models/digits:predict", JSON.stringify({ instances: [rows[0]] }))).json();
  expect(one.predictions, [wanted]);
  const two = await (await post("/v1/models/digits:predict", JSON.stringify({ inputs: [rows[0]] }))).json();
  expect(two.outputs, [wanted]);
});
await call("a body of unknown length, in chunks", async () => {
  const text = JSON.stringify({ instances: [rows[0]] });
  const stream = new ReadableStream({
    start(to) {
      for (let at = 0; at < text.length; at += 50) to.enqueue(new TextEncoder().encode(text.slice(at, at + 50)));
      to.close();
    },
  });
  const answer = await fetch(base + "/predict", { method: "POST", body: stream, headers: json, duplex: "half" });
  expect((await answer.json()).predictions, [wanted]);
});
await call("50 at once", async () => {
  const all = Array.from({ length: 50 }, (_, i) =>
    post("/v2/models/digits/infer", JSON.stringify({ id: String(i), inputs: [input] })).then((answer) => answer.json()));
  (await Promise.all(all)).forEach((body, i) => expect([body.id, body.outputs[0].data], [String(i), wanted]));
});
await call("errors name their fault", async () => {
  const answer = await post("/v2/models/nope/infer", "{}");
  expect([answer.status, typeof (await answer.json()).error], [404, "string"]);
  expect((await post("/v2/models/digits/infer", "not json")).status, 400);
});
process.exit(good ? 0 : 1);
