"""The full job on aiohttp: cookie, session, SHA-256 of the body, HMAC-SHA256, forward.

Arguments: the port, the upstream's port, access key, secret key, API version.
"""

import asyncio
import hashlib
import hmac
import secrets
import sys
import time

import aiohttp
import uvloop
from aiohttp import web

PORT, UPSTREAM_PORT, ACCESS_KEY, SECRET_KEY, VERSION = sys.argv[1:]
UPSTREAM_HOST = f"127.0.0.1:{UPSTREAM_PORT}"
LARGEST_BODY = 128 * 2**20
PASSED = ("Accept", "Accept-Encoding", "Accept-Language", "If-None-Match", "Range", "User-Agent")
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "upgrade", "set-cookie"}

sessions: dict[str, str] = {}
signing_keys: dict[str, bytes] = {}


def digest(key: bytes, message: str) -> bytes:
    return hmac.digest(key, message.encode(), "sha256")


def signing_key(day: str) -> bytes:
    if day not in signing_keys:
        signing_keys.clear()
        signing_keys[day] = digest(digest(SECRET_KEY.encode(), day), UPSTREAM_HOST)
    return signing_keys[day]


def signed(request: web.Request, body: bytes) -> dict[str, str]:
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    content_type = request.headers.get("Content-Type", "application/json")
    text = "\n".join((
        request.method,
        request.raw_path,
        date,
        f"host:{UPSTREAM_HOST}",
        f"content-type:{content_type}",
        f"x-service-version:{VERSION}",
        hashlib.sha256(body).hexdigest(),
    ))
    signature = digest(signing_key(date[:8]), text).hex()
    headers = {name: request.headers[name] for name in PASSED if name in request.headers}
    headers.update({
        "Host": UPSTREAM_HOST,
        "Content-Type": content_type,
        "Date": date,
        "X-Service-Date": date,
        "X-Service-Version": VERSION,
        "Authorization": f"Service signMethod=HMAC-SHA256, credential={ACCESS_KEY}:{signature}",
    })
    return headers


async def login(_: web.Request) -> web.Response:
    session = secrets.token_urlsafe(32)
    sessions[session] = "visitor"
    response = web.Response(status=204)
    response.set_cookie("session", session, httponly=True, samesite="Strict")
    return response


async def relay(request: web.Request) -> web.StreamResponse:
    if request.cookies.get("session") not in sessions:
        return web.Response(status=401)
    if request.headers.get("Upgrade", "").lower() == "websocket":
        return await relay_socket(request)
    body = await request.read()
    url = f"http://{UPSTREAM_HOST}{request.raw_path}"
    client: aiohttp.ClientSession = request.app["client"]
    async with client.request(
        request.method, url, headers=signed(request, body), data=body or None, allow_redirects=False
    ) as answer:
        headers = [(name, value) for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP]
        if answer.content_length is not None and answer.content_length <= 2**16:
            return web.Response(status=answer.status, headers=headers, body=await answer.read())
        response = web.StreamResponse(status=answer.status, headers=headers)
        await response.prepare(request)
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
        await response.write_eof()
        return response


async def relay_socket(request: web.Request) -> web.WebSocketResponse:
    headers = signed(request, b"")
    async with request.app["client"].ws_connect(f"http://{UPSTREAM_HOST}{request.raw_path}", headers=headers) as there:
        here = web.WebSocketResponse()
        await here.prepare(request)
        ways = [asyncio.create_task(pump(here, there)), asyncio.create_task(pump(there, here))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        return here


async def pump(source, sink) -> None:
    async for message in source:
        if message.type == aiohttp.WSMsgType.TEXT:
            await sink.send_str(message.data)
        elif message.type == aiohttp.WSMsgType.BINARY:
            await sink.send_bytes(message.data)


async def client_of(app: web.Application):
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    app["client"] = aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False)
    yield
    await app["client"].close()


def main() -> None:
    app = web.Application(client_max_size=LARGEST_BODY)
    app.cleanup_ctx.append(client_of)
    app.router.add_post("/login", login)
    app.router.add_route("*", "/{path:.*}", relay)
    web.run_app(
        app, host="127.0.0.1", port=int(PORT), access_log=None, print=None, keepalive_timeout=75, loop=uvloop.new_event_loop()
    )


if __name__ == "__main__":
    main()
