import BLE
import Waiting

/// A value of a device at a second.
struct Sample: Equatable, Sendable {
    /// The device, as in topics.
    let device: String
    /// The key of its entry in the list.
    let entry: String
    /// The name of the device for people.
    let name: String
    /// The id of the field, such as `battery_low`.
    let field: String
    let value: SensorReading.Value
    /// The symbol of the unit, such as `°C`.
    let unit: String?
    /// The seconds since 1970, in UTC.
    let second: Int64
}

/// The samples that wait until they are written to a history.
///
/// Of a published state, a value is a sample if it has changed, or if its last sample is a minute old: a reader of the
/// history can then tell a value that stayed the same from a device that was away.
struct SampleQueue: Sendable {
    /// The maximum number of samples that wait. Without room, the oldest ones are dropped.
    static let limit = 10_000
    /// The seconds after which an unchanged value is a sample again.
    static let repetition: Int64 = 60
    /// The maximum number of samples in a batch.
    static let batchLimit = 250
    /// The maximum number of bytes of text in a batch.
    static let textLimit = 65_536

    private struct Key: Hashable {
        let device: String
        let field: String
    }

    /// The last sample of each field. The table bounds the number of devices and of their fields.
    private var latest: [Key: (value: SensorReading.Value, second: Int64)] = [:]
    private var queue = Fifo<Sample>()
    /// The number of samples that wait.
    private(set) var count = 0
    private var dropped = 0

    /// Takes a published state.
    mutating func take(_ state: DeviceState, at second: Int64) {
        for (id, field) in state.fields { take(id, field.value, field.unit, state, at: second) }
        if let rssi = state.rssi { take("rssi", .number(Double(rssi)), "dBm", state, at: second) }
        dropOverflow()
    }

    private mutating func take(
        _ field: String, _ value: SensorReading.Value, _ unit: String?, _ state: DeviceState, at second: Int64
    ) {
        if case .number(let number) = value, !number.isFinite { return }
        let key = Key(device: state.device, field: field)
        // After a step of the clock back, an unchanged value is a sample, too.
        if let last = latest[key], last.value == value, 0..<Self.repetition ~= second - last.second { return }
        latest[key] = (value, second)
        queue.append(
            Sample(
                device: state.device, entry: state.entry, name: state.name, field: field, value: value, unit: unit,
                second: second))
        count += 1
    }

    /// Removes and returns the oldest samples.
    mutating func takeBatch() -> [Sample] {
        var bytes = 0
        var batch: [Sample] = []
        // The first sample always fits.
        while batch.count < Self.batchLimit, bytes < Self.textLimit, let sample = popFirst() {
            if case .text(let text) = sample.value { bytes += text.utf8.count }
            batch.append(sample)
        }
        return batch
    }

    private mutating func popFirst() -> Sample? {
        let sample = queue.popFirst()
        if sample != nil { count -= 1 }
        return sample
    }

    /// Takes samples back that could not be written.
    mutating func giveBack(_ batch: [Sample]) {
        queue.prepend(batch)
        count += batch.count
        dropOverflow()
    }

    /// Returns the number of samples that were dropped since the last call.
    mutating func takeDropped() -> Int {
        defer { dropped = 0 }
        return dropped
    }

    /// Drops what waits. Returns the number of samples that were dropped since the last call.
    mutating func takeAll() -> Int {
        while popFirst() != nil { dropped += 1 }
        return takeDropped()
    }

    private mutating func dropOverflow() {
        while count > Self.limit, popFirst() != nil { dropped += 1 }
    }
}
