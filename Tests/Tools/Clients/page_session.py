"""The page of `ble web` in a headless Chromium: page_session.py CHROMIUM ADDRESS TOKEN STRAP LAMP HOSTILE FOLDER.

CHROMIUM is Debian's chromium-headless-shell, which is driven by the Chrome DevTools Protocol. Each line of the output is
JSON: what a step has seen. Screenshots are written to FOLDER. A step waits until the page is as it should be, without a
limit of time: who starts this ends it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import pathlib
import signal
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator

from websockets.asyncio.client import ClientConnection, connect


class Page:
    """A page of a browser."""

    def __init__(self, socket: ClientConnection, folder: pathlib.Path) -> None:
        self.socket, self.folder = socket, folder
        self.numbers = itertools.count(1)
        self.answers: dict[int, asyncio.Future[dict]] = {}
        # The requests of the page, and what its console has complained of.
        self.requests: set[str] = set()
        self.complaints: list[str] = []
        self.receiving = asyncio.create_task(self.receive())

    async def receive(self) -> None:
        async for text in self.socket:
            message = json.loads(text)
            if 'id' in message:
                self.answers.pop(message['id']).set_result(message)
            elif message['method'] == 'Network.requestWillBeSent':
                self.requests.add(message['params']['request']['url'])
            elif message['method'] == 'Network.webSocketCreated':
                self.requests.add(message['params']['url'])
            elif message['method'] in ('Runtime.exceptionThrown', 'Page.javascriptDialogOpening'):
                self.complaints.append(json.dumps(message['params']))
            elif message['method'] == 'Log.entryAdded' and message['params']['entry']['level'] == 'error':
                self.complaints.append(message['params']['entry']['text'])

    async def call(self, method: str, **parameters: object) -> dict:
        number = next(self.numbers)
        self.answers[number] = answer = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({'id': number, 'method': method, 'params': parameters}))
        message = await answer
        if 'error' in message:
            raise RuntimeError(f'{method}: {message["error"]}')
        return message['result']

    async def evaluate(self, expression: str) -> object:
        answer = await self.call('Runtime.evaluate', expression=expression, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(f'{expression}: {answer["exceptionDetails"]}')
        return answer['result'].get('value')

    async def until(self, expression: str) -> None:
        """Returns once an expression is true."""
        while not await self.evaluate(f'Boolean({expression})'):
            await asyncio.sleep(0.05)

    async def click(self, selector: str) -> None:
        await self.until(f'document.querySelector({json.dumps(selector)})')
        await self.evaluate(f'document.querySelector({json.dumps(selector)}).click()')

    async def screenshot(self, name: str) -> None:
        picture = await self.call('Page.captureScreenshot', format='png')
        (self.folder / f'{name}.png').write_bytes(base64.b64decode(picture['data']))

    async def size(self, width: int, height: int) -> None:
        await self.call(
            'Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    async def color_scheme(self, name: str) -> None:
        await self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': name}])


@contextlib.asynccontextmanager
async def open_page(chromium: str, folder: pathlib.Path) -> AsyncIterator[Page]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # In containers, the sandbox is not available. The page is this project's own.
        browser = await asyncio.create_subprocess_exec(
            chromium, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
            '--disable-background-networking', '--remote-debugging-port=0', f'--user-data-dir={profile}', 'about:blank',
            stderr=asyncio.subprocess.DEVNULL, start_new_session=True)
        try:
            port = pathlib.Path(profile, 'DevToolsActivePort')
            while not port.exists() or not port.read_text():
                await asyncio.sleep(0.05)
            url = f'http://127.0.0.1:{port.read_text().split()[0]}/json/list'
            pages = json.loads(await asyncio.to_thread(lambda: urllib.request.urlopen(url).read()))
            address = next(page['webSocketDebuggerUrl'] for page in pages if page['type'] == 'page')
            async with connect(address, max_size=None) as socket:
                page = Page(socket, folder)
                for domain in ['Page', 'Runtime', 'Network', 'Log']:
                    await page.call(f'{domain}.enable')
                yield page
                page.receiving.cancel()
        finally:
            # The program is a script, which has started the browser and its processes.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(browser.pid, signal.SIGKILL)
            await browser.wait()


def show(**entry: object) -> None:
    print(json.dumps(entry, sort_keys=True), flush=True)


def row(device: str) -> str:
    return f'#peripherals tr[data-id="{device}"]'


async def look_around(page: Page, address: str, strap: str, hostile: str) -> None:
    """Without a token: the list fills, a foreign name stays text, a tree opens, writing is not offered."""
    await page.call('Page.navigate', url=address)
    for device in [strap, hostile]:
        await page.until(f"document.querySelector('{row(device)}')")
    show(step='list', name=await page.evaluate(f"document.querySelector('{row(hostile)}').textContent.includes('<img')"),
         images=await page.evaluate("document.querySelectorAll('#peripherals img').length"))
    await page.screenshot('peripherals-light')
    await page.color_scheme('dark')
    await page.screenshot('peripherals-dark')
    await page.size(360, 740)
    show(step='phone', overflow=await page.evaluate('document.documentElement.scrollWidth > 360'))
    await page.screenshot('peripherals-phone')
    await page.size(1280, 800)
    await page.color_scheme('light')
    await page.evaluate(f"location.hash = '#/peripheral/{strap}'")
    await page.until("document.querySelector('#tree')?.textContent.includes('Heart Rate Measurement')")
    await page.until("document.querySelector('#tree button[data-action=subscribe]')?.disabled")
    show(step='tree', disabled=await page.evaluate(
        "[...document.querySelectorAll('#tree button:is([data-action=write], [data-action=subscribe])')].every(b => b.disabled)"))


# What a page gets that asks for a change without the token, whatever its buttons say.
REFUSED = """new Promise((resolve) => {
  const socket = new WebSocket(`ws://${location.host}/command`);
  socket.onopen = () => socket.send(JSON.stringify({arguments: ["write", LAMP, "ff01", "07"], token: "guess"}));
  socket.onmessage = (message) => resolve(JSON.parse(message.data).error?.code);
})"""


async def change(page: Page, address: str, token: str, strap: str, lamp: str) -> None:
    """With the token: a plot moves, and a value is written."""
    show(step='refused', code=await page.evaluate(REFUSED.replace('LAMP', json.dumps(lamp))))
    await page.call('Page.navigate', url='about:blank')
    await page.call('Page.navigate', url=f'{address}#token={token}')
    await page.until("document.querySelector('#peripherals tr[data-id]') && !location.hash.includes('token')")
    show(step='token', shown=await page.evaluate(f"document.documentElement.outerHTML.includes('{token}')"))
    await page.evaluate(f"location.hash = '#/peripheral/{strap}'")
    await page.click('#tree [data-uuid="2a37"] button[data-action=subscribe]')
    canvas = "document.querySelector('canvas.plot')"
    await page.until(canvas)
    first = await page.evaluate(f'{canvas}.toDataURL()')
    await page.until(f'{canvas}.toDataURL() !== {json.dumps(first)}')
    # Enough of a plot for the picture.
    await page.until("[...document.querySelectorAll('canvas.plot')].length >= 2")
    await asyncio.sleep(3)
    await page.screenshot('peripheral')
    show(step='plot', moves=True)
    await page.evaluate(f"location.hash = '#/peripheral/{lamp}'")
    await page.until("document.querySelector('#tree [data-uuid=ff01] input')")
    await page.evaluate("document.querySelector('#tree [data-uuid=ff01] input').value = '07'")
    await page.click('#tree [data-uuid=ff01] button[data-action=write]')
    await page.click('#tree [data-uuid=ff01] button[data-action=read]')
    await page.until("document.querySelector('#tree [data-uuid=ff01]').textContent.includes('07')")
    show(step='write', value='07')


async def main(chromium: str, address: str, token: str, strap: str, lamp: str, hostile: str, folder: str) -> None:
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    async with open_page(chromium, pathlib.Path(folder)) as page:
        await page.size(1280, 800)
        await look_around(page, address, strap, hostile)
        await change(page, address, token, strap, lamp)
        own = (address, address.replace('http:', 'ws:'), 'data:', 'about:', 'blob:')
        show(step='end', foreign=sorted(url for url in page.requests if not url.startswith(own)),
             complaints=page.complaints)


asyncio.run(main(*sys.argv[1:]))
