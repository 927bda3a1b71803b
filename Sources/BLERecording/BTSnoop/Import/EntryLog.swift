internal import BLE

/// A point of a capture.
struct Moment {
    var time: Duration
    /// The position of the record.
    var record: Int
}

/// The entries of an import. An entry may be added after those that follow it.
struct EntryLog {
    private var entries: [(order: Int, entry: RecordedEntry)] = []
    private var lastCall = 0
    private var lastTimestamp: Int64?
    /// The number of attributes that the databases of all replies may have, so that what is made of a file is
    /// proportional to it.
    private var room: Int

    /// The record that is being read.
    private(set) var now = Moment(time: .zero, record: 0)
    /// The time of the first record, in microseconds since the year 0.
    private(set) var began: Int64?

    init(room: Int) { self.room = room }

    /// Begins a record. Times that go back, as when the clock was set, are those of the record before.
    mutating func begin(_ record: BTSnoopReader.Record) {
        if began == nil { began = record.timestamp }
        let (elapsed, isTooLong) = record.timestamp.subtractingReportingOverflow(lastTimestamp ?? record.timestamp)
        lastTimestamp = record.timestamp
        var time = now.time
        if !isTooLong, elapsed > 0 { time = min(time + .microseconds(elapsed), Self.maximumTime) }
        now = Moment(time: time, record: record.number)
    }

    /// The latest time that a file of lines can have.
    private static let maximumTime = Duration.seconds(1_000_000_000)

    mutating func add(_ entry: RecordedEntry, at moment: Moment? = nil) {
        var entry = entry
        let moment = moment ?? now
        entry.time = moment.time
        entries.append((moment.record, entry))
    }

    /// Adds a call. Returns its number.
    mutating func call(_ entry: RecordedEntry, at moment: Moment? = nil) -> Int {
        lastCall += 1
        var entry = entry
        entry.call = lastCall
        add(entry, at: moment)
        return lastCall
    }

    /// Adds the reply to a call.
    mutating func reply(
        _ call: Int, at moment: Moment? = nil, value: [UInt8]? = nil, number: Int? = nil,
        services: GATTDatabase? = nil, error: BLEError? = nil
    ) {
        var entry = RecordedEntry(.reply, call: call, value: value, number: number, error: error)
        entry.services = services
        add(entry, at: moment)
    }

    /// Counts a packet that cannot be decoded, as a gap.
    mutating func skip() {
        if let last = entries.last, last.entry.what == .gap {
            entries[entries.count - 1].entry.number = (last.entry.number ?? 0) + 1
        } else {
            add(RecordedEntry(.gap, number: 1))
        }
    }

    /// Reserves room for a database. False if the databases would take up more than the file.
    mutating func reserve(_ attributes: Int) -> Bool {
        guard attributes <= room else { return false }
        room -= attributes
        return true
    }

    /// The entries in the order of their records, with calls numbered in that order.
    var ordered: [RecordedEntry] {
        var numbers: [Int: Int] = [:]
        let sorted = entries.enumerated().sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
        return sorted.map { _, element in
            var entry = element.entry
            if let call = entry.call {
                let number = numbers[call] ?? numbers.count + 1
                numbers[call] = number
                entry.call = number
            }
            return entry
        }
    }
}
