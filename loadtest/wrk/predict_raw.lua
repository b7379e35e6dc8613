-- BODY=row.f32 wrk -t1 -c64 -d5s -s loadtest/wrk/predict_raw.lua http://127.0.0.1:8000/predict
-- BODY names a file of little-endian float32; without it, a row of zeros for models/digits.
local path = os.getenv("BODY")
local body = string.rep("\0\0\0\0", 64)
if path then
    local file = assert(io.open(path, "rb"))
    body = file:read("*a")
    file:close()
end
wrk.method = "POST"
wrk.body = body
wrk.headers["Content-Type"] = "application/octet-stream"
