"""How a peripheral pairs: its means of input and output, and the actions of its user."""

from __future__ import annotations

import asyncio

from bumble.pairing import PairingConfig, PairingDelegate

IoCapability = PairingDelegate.IoCapability

PASSKEY = 123456
"""The number that a strap with a display shows."""

METHODS = {
    'just-works': IoCapability.NO_OUTPUT_NO_INPUT,
    'display': IoCapability.DISPLAY_OUTPUT_ONLY,
    'keyboard': IoCapability.KEYBOARD_INPUT_ONLY,
    'compare': IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
    'reject': IoCapability.NO_OUTPUT_NO_INPUT,
    'silent': IoCapability.NO_OUTPUT_NO_INPUT,
}
"""The ways to pair, by the names that the command "pairing" takes."""


class Pairing(PairingDelegate):
    """The peripheral's side of a pairing.

    ========== ==========================================================================
    method     the peripheral
    ========== ==========================================================================
    just-works has neither display nor keys, and agrees
    display    shows PASSKEY, to be typed in on the other side
    keyboard   waits for the number that the other side shows, which the command "type" enters
    compare    shows a number and confirms it
    reject     does not pair
    silent     does not answer a request to pair
    ========== ==========================================================================
    """

    def __init__(self) -> None:
        super().__init__()
        self.set_method('just-works')

    def set_method(self, method: str) -> None:
        """Pairs with that method from now on."""
        self.io_capability = METHODS[method]
        self.method = method
        self._typed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.requests = 0  # (how often a central has asked to pair)

    def type(self, passkey: int) -> None:
        """Types a number in as the strap's user, before or after the stack asks for it."""
        if self._typed.done():
            self._typed = asyncio.get_running_loop().create_future()
        self._typed.set_result(passkey)

    def config(self) -> PairingConfig:
        """The configuration that bumble asks for at the beginning of a pairing."""
        protects = self.method in ('display', 'keyboard', 'compare')
        return PairingConfig(
            sc=True,
            mitm=protects,
            bonding=True,
            delegate=self,
            identity_address_type=PairingConfig.AddressType.RANDOM,  # (Linux ignores any other address)
        )

    # --- bumble's questions ---

    async def accept(self) -> bool:
        self.requests += 1
        if self.method == 'silent':
            await asyncio.get_running_loop().create_future()  # (until the link ends)
        return self.method != 'reject'

    async def generate_passkey(self) -> int:
        return PASSKEY

    async def get_number(self) -> int | None:
        return await self._typed
