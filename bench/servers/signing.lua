-- The full job in OpenResty's manner: cookie, session in a shared dict, allow-list of headers, SHA-256 of the body,
-- HMAC-SHA256, forward.
-- Gives a function of {access_key, secret_key, version, host} that gives {login, sign}. Hashes are libcrypto's, which
-- nginx has loaded anyway.
local ffi = require 'ffi'

ffi.cdef [[
  unsigned char *SHA256(const unsigned char *data, size_t length, unsigned char *digest);
  int SHA256_Init(void *context);
  int SHA256_Update(void *context, const void *data, size_t length);
  int SHA256_Final(unsigned char *digest, void *context);
  const void *EVP_sha256(void);
  unsigned char *HMAC(const void *method, const void *key, int key_length,
    const unsigned char *data, size_t length, unsigned char *digest, unsigned int *digest_length);
  int RAND_bytes(unsigned char *buffer, int length);
]]

local C = ffi.C
local digest = ffi.new('unsigned char[32]')
-- SHA256_CTX has 112 bytes.
local context = ffi.new('unsigned char[128]')

local hex_of_byte = {}
for byte = 0, 255 do hex_of_byte[byte] = string.format('%02x', byte) end

local pairs_of_hex = {}
local function hex()
  for at = 0, 31 do pairs_of_hex[at + 1] = hex_of_byte[digest[at]] end
  return table.concat(pairs_of_hex)
end

local function hmac(key, message)
  C.HMAC(C.EVP_sha256(), key, #key, message, #message, digest, nil)
  return ffi.string(digest, 32)
end

local function hash_of(text)
  C.SHA256(text, #text, digest)
  return hex()
end

local function hash_of_file(name)
  C.SHA256_Init(context)
  local file = assert(io.open(name, 'rb'))
  for piece in function() return file:read(65536) end do C.SHA256_Update(context, piece, #piece) end
  file:close()
  C.SHA256_Final(digest, context)
  return hex()
end

local EMPTY = hash_of('')

local function body_hash()
  if ngx.var.http_content_length == nil and ngx.var.http_transfer_encoding == nil then return EMPTY end
  ngx.req.read_body()
  local body = ngx.req.get_body_data()
  if body ~= nil then return hash_of(body) end
  local file = ngx.req.get_body_file()
  return file == nil and EMPTY or hash_of_file(file)
end

-- What passes besides Sec-WebSocket-*; nginx frames the rest itself.
local PASSED = {
  ['accept'] = true, ['accept-encoding'] = true, ['accept-language'] = true, ['connection'] = true,
  ['content-length'] = true, ['content-type'] = true, ['host'] = true, ['if-match'] = true,
  ['if-modified-since'] = true, ['if-none-match'] = true, ['last-event-id'] = true, ['range'] = true,
  ['transfer-encoding'] = true, ['upgrade'] = true, ['user-agent'] = true,
}

local function drop_other_headers()
  for name in pairs(ngx.req.get_headers()) do
    if not PASSED[name] and name:sub(1, 14) ~= 'sec-websocket-' then ngx.req.clear_header(name) end
  end
end

return function(settings)
  local key_day, key

  local function signing_key(day)
    if key_day ~= day then
      key_day, key = day, hmac(hmac(settings.secret_key, day), settings.host)
    end
    return key
  end

  local function login()
    C.RAND_bytes(digest, 32)
    local id = ngx.encode_base64(ffi.string(digest, 32), true):gsub('+', '-'):gsub('/', '_')
    ngx.shared.sessions:set(id, 'visitor', 3600)
    ngx.header['Set-Cookie'] = 'session=' .. id .. '; HttpOnly; SameSite=Strict; Path=/'
    ngx.exit(204)
  end

  local function sign()
    local id = ngx.var.cookie_session
    if id == nil or ngx.shared.sessions:get(id) == nil then return ngx.exit(401) end
    drop_other_headers()
    local date = os.date('!%Y%m%dT%H%M%SZ', ngx.time())
    local content_type = ngx.var.http_content_type or 'application/json'
    local text = table.concat({
      ngx.req.get_method(),
      ngx.var.request_uri,
      date,
      'host:' .. settings.host,
      'content-type:' .. content_type,
      'x-service-version:' .. settings.version,
      body_hash(),
    }, '\n')
    hmac(signing_key(date:sub(1, 8)), text)
    local set_header = ngx.req.set_header
    set_header('Authorization',
      'Service signMethod=HMAC-SHA256, credential=' .. settings.access_key .. ':' .. hex())
    set_header('Date', date)
    set_header('X-Service-Date', date)
    set_header('X-Service-Version', settings.version)
    set_header('Content-Type', content_type)
  end

  return { login = login, sign = sign }
end
