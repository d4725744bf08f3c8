-- Arguments: the method and, for a request with a body, the file that holds it.
function init(args)
  wrk.method = args[1]
  if args[2] then
    local file = assert(io.open(args[2], "rb"))
    wrk.body = file:read("*a")
    file:close()
  end
end

-- The last line of the output: LoadResult as JSON.
function done(summary)
  local e = summary.errors
  io.write(string.format(
    '{"units":%d,"errors":%d,"seconds":%.6f}\n',
    summary.requests,
    e.connect + e.read + e.write + e.status + e.timeout,
    summary.duration / 1e6
  ))
end
