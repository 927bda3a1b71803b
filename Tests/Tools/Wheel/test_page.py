"""The Python and shell blocks of Docs/Simulation.md, run as written, except that /tmp is a directory of the test."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from ble_fake import Fake

PAGE = Path(__file__).parents[3] / 'Docs/Simulation.md'
BLOCKS = re.findall(r'^```(\w+)\n(.*?)^```$', PAGE.read_text(), re.M | re.S)
LIMIT = 60
"""Seconds after which a block that has not shown what it must show has failed."""

# Words of a shell block, and what it must show. Most blocks do not end by themselves.
SHOWN = {
    '-- pytest': r'\b1 passed\b',
    'ble scan': r'Simulated Strap',
    'ble heart-rate --adapter': r'\d+ bpm',
    'ble heart-rate Mine': r'\d+ bpm',
    'ble.Fake1.Do': r'string "',
}


def of(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def uses_fixture(block: str) -> bool:
    return '(bluetooth)' in block


class Terminal:
    """A shell with what is typed there, and what it and its programs have shown."""

    def __init__(self, script: str, directory: Path) -> None:
        environment = {name: value for name, value in os.environ.items() if name != 'BLE_SIMULATED_RADIO'}
        environment |= {'XDG_RUNTIME_DIR': str(directory), 'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}'}
        self._process = subprocess.Popen(
            ['bash', '-c', script.replace('/tmp/', f'{directory}/')],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.text = ''
        self._changed = threading.Condition()
        self._has_ended = False
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            with self._changed:
                self.text += line
                self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def until(self, pattern: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or re.search(pattern, self.text), LIMIT)
            assert re.search(pattern, self.text), f'not shown: {pattern}\n{self.text}'

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        # With what runs in the background. (A shell that has ended leaves its session to that.)
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
                self._process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


@pytest.mark.parametrize('block', of('console'), ids=lambda block: block.splitlines()[0])
def test_shell(block: str, tmp_path: Path) -> None:
    shown = [pattern for words, pattern in SHOWN.items() if words in block]
    assert len(shown) == 1, 'SHOWN says what each block must show'
    for python in of('python'):
        if not uses_fixture(python):
            (tmp_path / 'test_page.py').write_text(python)
    commands = re.split(r'^\$ ', block, flags=re.M)[1:]
    if '# in one terminal' in block:
        first, second = commands
        with Terminal(first, tmp_path) as one:
            # It shows that it advertises.
            one.until('.')
            with Terminal(second, tmp_path) as other:
                other.until(shown[0])
        return
    if 'ble.Fake1.Do' in block:
        # It is typed in a program of another block.
        (tmp_path / 'script').write_text(''.join(commands))
        commands = ['ble fake --peripheral heart-rate-strap,name=Strap -- bash script']
    with Terminal(''.join(commands), tmp_path) as terminal:
        terminal.until(shown[0])


@pytest.mark.parametrize('block', [block for block in of('python') if uses_fixture(block)])
def test_python(block: str, tmp_path: Path) -> None:
    (tmp_path / 'test_page.py').write_text(block)
    with Terminal('python -m pytest -o asyncio_mode=auto', tmp_path) as terminal:
        terminal.until(r'\b1 passed\b')


@pytest.mark.parametrize('block', of('json'))
def test_commands(block: str, bluetooth: Fake) -> None:
    bluetooth.add('heart-rate-strap', name='Strap')
    command = json.loads(block)
    assert bluetooth.do(command.pop('do'), **command) == {'fault': 1}


def test_every_expectation_is_of_a_block() -> None:
    assert [words for words in SHOWN if not any(words in block for block in of('console'))] == []
