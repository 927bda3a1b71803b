import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct FitnessRecordStreamTests {
    /// The first part of a record, with its power, and the last, with its speed.
    private func parts(_ number: Int) throws -> [[UInt8]] {
        var first = IndoorBikeData()
        first.hasMoreData = true
        first.powerWatts = number
        var last = IndoorBikeData()
        last.speedKilometersPerHour = Double(number)
        return [try first.encoded(), try last.encoded()]
    }

    @Test func `a reader that is too slow gets no record made of two`() async throws {
        let world = try await SimulatedWorld()
        let bike = BluetoothUUID(0x2AD2)
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(.fitnessMachine, [CharacteristicDefinition(bike, .notify)]))
        let notifications = try await FitnessMachine(peripheral).service.notifications(
            .indoorBikeData, overflow: .dropOldest(capacity: 4))
        var records = FitnessRecordStream(notifications).makeAsyncIterator()
        for part in try parts(1) + [parts(2)[0]] { await grip.notify(part, from: bike) }
        // With the first record the reader has taken the first part of the second.
        let first = try #require(try await records.next())
        #expect(first.powerWatts == 1 && first.speedKilometersPerHour == 1)
        for part in try [parts(2)[1]] + parts(3) + parts(4) + parts(5) { await grip.notify(part, from: bike) }
        for number in 4...5 {
            let record = try #require(try await records.next())
            #expect(record.speedKilometersPerHour == Double(number))
            #expect(record.powerWatts == number)
        }
    }
}
