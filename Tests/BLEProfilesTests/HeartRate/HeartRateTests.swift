import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Logging
import Testing

@Suite(.hangLimit) struct HeartRateTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    @Test func `measurements come from the first on, one a second`() async throws {
        let (strap, _) = try await world.add(.heartRateStrap { 70 + $0 })
        var beats = try await HeartRate(strap).measurements().makeAsyncIterator()
        for beat in 70..<75 {
            let measurement = try #require(try await beats.next())
            #expect(measurement.beatsPerMinute == beat)
            #expect(measurement.contact == true)
            #expect(measurement.energyExpendedKilojoules == 10)
            #expect(measurement.rrIntervalsSeconds == [Double(60 * 1024 / beat) / 1024])
            await world.clock.sleepers(1)
            world.clock.advance(by: .seconds(1))
        }
    }

    @Test func `a strap that drops ends its stream, and can be subscribed to again`() async throws {
        let (strap, grip) = try await world.add(.heartRateStrap(beatsPerMinute: 60))
        var beats = try await HeartRate(strap).measurements().makeAsyncIterator()
        #expect(try await beats.next()?.beatsPerMinute == 60)
        await grip.dropLink()
        await expectError(.disconnected) { try await beats.next() }
        beats = try await HeartRate(strap).measurements().makeAsyncIterator()
        #expect(try await beats.next()?.beatsPerMinute == 60)
    }

    @Test func `a malformed measurement does not end the stream`() async throws {
        let definition = PeripheralDefinition(
            advertisement: Advertisement(rssi: -50),
            services: [
                ServiceDefinition(
                    .heartRate, characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A37), .notify)])
            ])
        let (strap, grip) = try await world.add(definition)
        var beats = try await HeartRate(strap).measurements().makeAsyncIterator()
        await grip.notify([0x10, 0x48, 0x00], from: BluetoothUUID(0x2A37))
        await grip.notify([0x10, 0x48, 0x00, 0x04], from: BluetoothUUID(0x2A37))
        let error = await expectError(.invalidValue) { try await beats.next() }
        #expect(error?.peripheral == strap.id)
        #expect(try await beats.next() == HeartRateMeasurement(beatsPerMinute: 72, rrIntervalsSeconds: [1]))
    }

    @Test func `the location is read`() async throws {
        let (strap, _) = try await world.add(.heartRateStrap())
        #expect(try await HeartRate(strap).bodySensorLocation() == .chest)
    }

    @Test func `the energy is reset by writing 1 to the control point`() async throws {
        let definition = PeripheralDefinition(
            advertisement: Advertisement(rssi: -50),
            services: [
                ServiceDefinition(
                    .heartRate, characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A39), .write)])
            ])
        let (strap, grip) = try await world.add(definition)
        try await HeartRate(strap).resetEnergyExpended()
        #expect(await grip.value(of: BluetoothUUID(0x2A39)) == [1])
    }

    @Test func `a sensor that does not count energy says so`() async throws {
        let (strap, _) = try await world.add(.heartRateStrap())
        let error = await expectError(.characteristicNotFound) { try await HeartRate(strap).resetEnergyExpended() }
        #expect(error?.missingUUIDs == [BluetoothUUID(0x2A39)])
    }

    @Test func `a peripheral that is not a heart rate sensor is an error`() async throws {
        let (thing, _) = try await world.add(.battery())
        let error = await expectError(.serviceNotFound) { try await HeartRate(thing).measurements() }
        #expect(error?.missingUUIDs == [.heartRate])
    }
}
