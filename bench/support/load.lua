-- Sends the bodies in a file (one JSON object per line) in turn, or GET if the file is `-`, and prints exact sums at
-- the end. A third argument is the beginning of the Idempotency-Key of each request, which continues with a number.
local requests = {}
local at = 0
local sent = 0
local key

function init(args)
  wrk.method = 'POST'
  wrk.headers['Content-Type'] = 'application/json'
  wrk.headers['User-Agent'] = 'legate-bench/1'
  wrk.headers['Authorization'] = 'Bearer ' .. args[2]
  if args[1] == '-' then
    wrk.method = 'GET'
    requests[1] = wrk.format()
    return
  end
  key = args[3]
  if key then
    wrk.headers['Idempotency-Key'] = key .. '-@'
  end
  for body in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format(nil, nil, nil, body)
  end
end

function request()
  at = at % #requests + 1
  if not key then
    return requests[at]
  end
  sent = sent + 1
  return (requests[at]:gsub('%-@\r', '-' .. sent .. '\r', 1))
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format('{"requests":%d,"bytes":%d,"micros":%d,"bad":%d,"broken":%d,"p50":%.3f,"p99":%.3f}\n',
    summary.requests, summary.bytes, summary.duration, e.status, e.connect + e.read + e.write + e.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
