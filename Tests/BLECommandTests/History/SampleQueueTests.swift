import BLE
import Testing

@testable import BLECommand

struct SampleQueueTests {
    private var queue = SampleQueue()

    private static func state(
        _ values: [String: SensorReading.Value], rssi: Int? = nil, device: String = "c47c8d000001"
    ) -> DeviceState {
        let fields = values.mapValues { SensorReading(name: "", value: $0, unit: nil) }
        return DeviceState(device: device, entry: "freezer", name: "Freezer", fields: fields, rssi: rssi)
    }

    private mutating func take(_ number: Double, at second: Int64) {
        queue.take(Self.state(["temperature": .number(number)]), at: second)
    }

    private var seconds: [Int64] { queue.waiting.map(\.second) }

    @Test mutating func `a sample has its device, its value, its unit and its time`() {
        queue.take(Self.state(["door": .flag(true)], rssi: -60), at: 1000)
        #expect(
            queue.waiting == [
                Sample(
                    device: "c47c8d000001", entry: "freezer", name: "Freezer", field: "door", value: .flag(true),
                    unit: nil, second: 1000),
                Sample(
                    device: "c47c8d000001", entry: "freezer", name: "Freezer", field: "rssi", value: .number(-60),
                    unit: "dBm", second: 1000),
            ])
    }

    @Test mutating func `each change is a sample`() {
        for second in 0..<10 { take(Double(second), at: Int64(second)) }
        #expect(seconds == Array(0..<10))
    }

    @Test mutating func `a value that stays the same is a sample once a minute`() {
        for second in 0..<600 { take(4, at: Int64(second)) }
        #expect(seconds == [0, 60, 120, 180, 240, 300, 360, 420, 480, 540])
    }

    @Test mutating func `fields and devices are independent`() {
        for (second, device) in [(0, "a"), (1, "b"), (2, "a")] {
            let state = Self.state(
                ["x": .number(1), "y": .number(Double(second))], device: device)
            queue.take(state, at: Int64(second))
        }
        #expect(queue.waiting.filter { $0.field == "x" }.map(\.device) == ["a", "b"])
        #expect(queue.waiting.filter { $0.field == "y" }.map(\.device) == ["a", "b", "a"])
    }

    @Test mutating func `after a step of the clock, back or forth, a value is a sample at once`() {
        for second: Int64 in [1000, 1001, 500, 501, 560, 1000, 1001] { take(4, at: second) }
        #expect(seconds == [1000, 500, 560, 1000])
    }

    @Test mutating func `a number that is none is no sample`() {
        for number in [Double.nan, .infinity, -.infinity] { take(number, at: 1) }
        #expect(queue.waiting == [])
    }

    @Test mutating func `the oldest samples are dropped and counted when too many wait`() {
        for second in 0..<10_005 { take(Double(second), at: Int64(second)) }
        #expect(queue.waiting.count == SampleQueue.limit)
        #expect(seconds.first == 5)
        #expect(queue.takeDropped() == 5)
        #expect(queue.takeDropped() == 0)
    }

    @Test mutating func `batches are in order, and a batch that could not be written comes back first`() {
        for second in 0..<600 { take(Double(second), at: Int64(second)) }
        let first = queue.takeBatch()
        #expect(first.map(\.second) == Array(0..<250))
        queue.giveBack(first)
        #expect(seconds == Array(0..<600))
        #expect([queue.takeBatch(), queue.takeBatch(), queue.takeBatch()].map(\.count) == [250, 250, 100])
        #expect(queue.takeBatch() == [])
    }

    @Test mutating func `what comes back to a full queue is dropped first`() {
        for second in 0..<10_000 { take(Double(second), at: Int64(second)) }
        let batch = queue.takeBatch()
        for second in 10_000..<10_100 { take(Double(second), at: Int64(second)) }
        queue.giveBack(batch)
        #expect(seconds == Array(100..<10_100))
        #expect(queue.takeDropped() == 100)
    }

    @Test mutating func `the text in a batch is bounded`() {
        for second in 0..<200 {
            queue.take(
                Self.state(["text": .text("\(second)" + String(repeating: "x", count: 1000))]), at: Int64(second))
        }
        #expect(queue.takeBatch().count == 66)
        // One that is longer than all of a batch.
        queue = SampleQueue()
        queue.take(Self.state(["text": .text(String(repeating: "x", count: 100_000))]), at: 0)
        #expect(queue.takeBatch().count == 1)
    }
}

extension SampleQueue {
    /// The samples that wait.
    fileprivate var waiting: [Sample] {
        var (queue, samples) = (self, [Sample]())
        while case let batch = queue.takeBatch(), !batch.isEmpty { samples += batch }
        return samples
    }
}
