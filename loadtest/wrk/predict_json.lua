-- wrk -t1 -c64 -d5s -s loadtest/wrk/predict_json.lua http://127.0.0.1:8000/predict
-- The environment variable BODY names the file that is sent; without it, a row for models/digits.
local path = os.getenv("BODY")
local body
if path then
    local file = assert(io.open(path, "rb"))
    body = file:read("*a")
    file:close()
else
    local row = {}
    for i = 1, 64 do
        row[i] = tostring(i % 17)
    end
    body = '{"instances":[[' .. table.concat(row, ",") .. "]]}"
end
wrk.method = "POST"
wrk.body = body
wrk.headers["Content-Type"] = "application/json"
