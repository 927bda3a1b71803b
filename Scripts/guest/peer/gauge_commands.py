"""The gauges' commands, after the word "gauges"."""

from __future__ import annotations

from command_set import CommandError, CommandSet
from gauges import Gauges


class GaugeCommands(CommandSet):
    """The commands of the gauges."""

    def __init__(self, gauges: Gauges) -> None:
        self.gauges = gauges

    async def do_on(self) -> None:
        """gauges on: they advertise from now on, whenever there is no link."""
        await self.gauges.advertise()

    async def do_off(self) -> None:
        """gauges off: they are silent, and have no link. This is the state at the start, without the option
        --gauges."""
        await self.gauges.stop_advertising()
        for connection in self.gauges.connections:
            await connection.disconnect()

    async def do_rotate(self, address: str = 'private') -> str:
        """gauges rotate [identity]: they advertise under a new resolvable private address from now on, or under their
        identity address again, which is the state at the start. The answer is that address."""
        if address not in ('private', 'identity'):
            raise CommandError('gauges rotate or gauges rotate identity')
        if self.gauges.connections:
            raise CommandError('there is a link')
        return await self.gauges.rotate(address == 'private')

    async def do_temperature(self, tenths: str) -> None:
        """gauges temperature N: indicates a temperature in tenths of a degree Celsius, and waits until it is
        confirmed."""
        await self.gauges.tell(self.gauges.thermometer.measurement, self.gauges.thermometer.spell(int(tenths)))

    async def do_ride(self, speed: str, cadence: str, power: str) -> None:
        """gauges ride SPEED CADENCE POWER: notifies the bike's data: hundredths of km/h, halves of a revolution a
        minute, watts."""
        value = self.gauges.machine.spell_bike(int(speed), int(cadence), int(power))
        await self.gauges.tell(self.gauges.machine.bike, value)

    async def do_beat(self) -> None:
        """gauges beat: notifies a heart rate measurement."""
        await self.gauges.beat()

    async def do_restore(self) -> None:
        """gauges restore: restores all glucose records."""
        self.gauges.glucose.restore()

    async def do_target(self) -> int:
        """gauges target: the target power that was set, in watts."""
        return self.gauges.machine.target

    async def do_energy(self) -> int:
        """gauges energy: the energy expended, in kilojoules."""
        return self.gauges.energy
