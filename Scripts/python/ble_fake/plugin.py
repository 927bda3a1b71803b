"""The fixture `bluetooth`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ble_fake import Fake


@pytest.fixture
def bluetooth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    """A bluetoothd without a radio, which the test's programs take for the system's. It begins without peripherals.

    With `@pytest.mark.parametrize('bluetooth', [{'daemon': '5.82'}], indirect=True)`, it gets the arguments of `Fake`.
    """
    with Fake(**getattr(request, 'param', {})) as fake:
        monkeypatch.setenv('DBUS_SYSTEM_BUS_ADDRESS', fake.address)
        yield fake
