import BLE
import BLEAssignedNumbers
import BLEBeacons
import BLEProfiles
import BLESimulation
import BLETesting
import Testing

@testable import ClassroomRobot

@Suite(.hangLimit) struct RobotTests {
    private let world: SimulatedWorld
    private let simulated = SimulatedRobot()

    init() async throws {
        world = try await SimulatedWorld()
        _ = await world.radio.add(.heartRateStrap())
    }

    private func robot() async throws -> Robot {
        _ = await world.radio.add(simulated.definition)
        let search = Task { [world] in try await Robot.nearest(world.central) }
        // The scan hears them as it begins.
        await until { await world.central.knownPeripherals().count == 2 }
        return try await world.asTimePasses { try await search.value }
    }

    @Test func `it is found by its status`() async throws {
        let robot = try await robot()
        #expect(robot.status.batteryPercent == 80)
        #expect(robot.status.version == "1.2.300")
        let values = try await robot.values()
        #expect(try values.value(of: .robotName) == "Robbie")
        #expect(try values.value(of: .isCharging) == true)
    }

    @Test func `it says what it is, and how full its battery is`() async throws {
        let robot = try await robot()
        let information = try await robot.information()
        #expect(information.manufacturerName == "Classroom Robots")
        #expect(information.modelNumber == "Robot")
        #expect(information.serialNumber == "0042")
        #expect(information.firmwareRevision == robot.status.version)
        var levels = try await robot.batteryLevels().makeAsyncIterator()
        #expect(try await levels.next() == 80)
        #expect(try await levels.next() == 79)
    }

    @Test func `none is found where there is none`() async throws {
        await expectError(.peripheralNotFound) {
            try await world.asTimePasses { try await Robot.nearest(world.central) }
        }
    }

    @Test func `it accepts every command`() async throws {
        let robot = try await robot()
        let red = Color(red: 255, green: 0, blue: 0)
        try await robot.perform(.rainbow)
        try await robot.perform(.eye(.left, red), .eye(.right, red))
        try await robot.perform(.wheel(.left, speed: -0.5), .wheel(.right, speed: 2), .ring(from: 1, through: 4, red))
        try await robot.perform(.light(position: 1, id: 2, red))
        await until { simulated.accepted.count == 4 }
        #expect(simulated.accepted[3] == [0x2A, 0x2A, 0x2A, 0x2A, 1, 0x10, 1, 2, 255, 0, 0, 2])
        #expect(simulated.accepted[0] == [0x2A, 0x2A, 0x2A, 0x2A, 1, 0x50, 0x51, 0x51])
        #expect(simulated.accepted[2].prefix(10) == [0x2A, 0x2A, 0x2A, 0x2A, 3, 0x20, 0x21, 0x02, 127, 0xA2])
    }

    @Test func `its numbers have names`() {
        #expect(BluetoothUUID.writeCommand.name(in: .robot) == "Write Command")
        #expect(BluetoothUUID(0x8270).name(in: .robot) == "File Exchange")
        #expect(BluetoothUUID(0x7085).name(in: .robot) == "Firmware Update")
        #expect(BluetoothUUID(0x8369).name(in: .robot) == "Screensaver")
        #expect(Catalog.robot.characteristic("charging") == Characteristic.isCharging.uuid)
    }
}
