"""The host's side of the simulated radio: the controller that the kernel drives as hci0, and on command a second one,
hci1."""

from __future__ import annotations

import asyncio
import contextlib
import os

from bumble.transport import open_transport
from bumble.transport.common import StreamPacketSink, Transport

from air import Air, LowEnergyController

ADDRESS, SECOND_ADDRESS = 'C0:FF:EE:00:00:01', 'C0:FF:EE:00:00:02'
"""The controllers' public addresses."""


class KernelSink:
    """Gives packets to the kernel. It refuses those of a controller that it has closed without a word, as it does while a
    kill switch blocks it; they are lost. (bumble's own sink closes /dev/vhci then, which unplugs the controller.)"""

    def __init__(self, transport: Transport) -> None:
        assert isinstance(transport.sink, StreamPacketSink)
        self._descriptor: int = transport.sink.transport.get_extra_info('pipe').fileno()

    def on_packet(self, packet: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self._descriptor, packet)


class Adapter:
    """A controller in the air that the kernel takes, through /dev/vhci, for a plugged-in one."""

    def __init__(self, air: Air, name: str = 'hci0', address: str = ADDRESS) -> None:
        self._air, self._name, self._address = air, name, address
        self._transport: Transport | None = None
        self._controller: LowEnergyController | None = None

    @property
    def controller(self) -> LowEnergyController:
        """The controller. An error while it is unplugged."""
        if self._controller is None:
            raise RuntimeError('the controller is unplugged')
        return self._controller

    @property
    def is_plugged(self) -> bool:
        """Whether the kernel has the controller."""
        return self._controller is not None

    async def plug(self, kind: type[LowEnergyController] = LowEnergyController) -> None:
        if self._transport:
            raise RuntimeError('the controller is plugged in already')
        self._transport = await open_transport('vhci')
        self._controller = kind(
            self._name,
            self._transport.source,
            KernelSink(self._transport),
            self._air,
            public_address=self._address,
        )

    async def unplug(self) -> None:
        controller = self.controller
        controller.fall_silent()
        await asyncio.sleep(0)  # (its last packets are still being delivered)
        self._air.remove_controller(controller)
        assert self._transport
        await self._transport.close()
        self._transport = self._controller = None
