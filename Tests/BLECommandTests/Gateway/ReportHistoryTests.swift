import BLE
import BLEBTHome
import Testing

@testable import BLECommand

struct ReportHistoryTests {
    private let entry = ListedDevice(key: "button", match: .company(1))
    private let id: Peripheral.ID = "C4:7C:8D:00:00:01"
    private var history = ReportHistory()

    private func button(_ button: BTHomeButton) throws -> BTHomeObject {
        try BTHomeObject(try #require(BTHomeKind(id: 0x3A)), .button(button))
    }

    private func temperature(_ value: Double) throws -> BTHomeObject {
        try BTHomeObject(try #require(BTHomeKind(id: 2)), value: value)
    }

    /// Takes a report that is not encrypted.
    private mutating func take(
        packet: Int64? = nil, _ objects: BTHomeObject..., at seconds: Double
    ) throws -> BTHomeCounter.Order {
        var objects = objects
        if let packet { objects.insert(try BTHomeObject(try #require(BTHomeKind(id: 0)), .number(packet)), at: 0) }
        let advertisement = try BTHome(objects).advertisement()
        return history.take(DeviceReport(of: advertisement, from: id, entry), at: .seconds(seconds))
    }

    @Test mutating func `a report with the same packet id is the same for ten seconds after the last one`() throws {
        let press = try button(.press)
        #expect(try take(packet: 1, press, at: 0) == .new)
        for tenth in 1...300 { #expect(try take(packet: 1, press, at: Double(tenth) / 10) == .repeated) }
        // Also if a device sends something else with it.
        #expect(try take(packet: 1, try button(.doublePress), at: 39) == .repeated)
        // A device that sleeps may have the same packet id whenever it wakes.
        #expect(try take(packet: 1, press, at: 49) == .new)
        #expect(try take(packet: 2, press, at: 50) == .new)
        #expect(try take(packet: 1, press, at: 51) == .new)
    }

    @Test mutating func `a report without a packet id does not make the one before it new`() throws {
        let press = try button(.press)
        #expect(try take(packet: 7, press, at: 0) == .new)
        #expect(try take(try temperature(20), at: 1) == .repeated)
        #expect(try take(packet: 7, press, at: 2) == .repeated)
    }

    @Test mutating func `without a packet id, only other data is new, however long ago`() throws {
        let press = try button(.press)
        #expect(try take(press, at: 0) == .new)
        for second in stride(from: 4.0, through: 4000, by: 4) { #expect(try take(press, at: second) == .repeated) }
        #expect(try take(try button(.none), at: 4001) == .new)
        #expect(try take(press, at: 4002) == .new)
        #expect(try take(try button(.longPress), at: 4003) == .new)
    }

    @Test mutating func `reports with and without events that alternate have their event once`() throws {
        let press = try button(.press)
        #expect(try take(press, at: 0) == .new)
        for second in 1...100 {
            #expect(try take(try temperature(Double(second % 3)), at: Double(second)) == .repeated)
            #expect(try take(press, at: Double(second) + 0.5) == .repeated)
        }
    }

    @Test mutating func `an advertisement without a report is nothing new`() {
        let report = DeviceReport(of: Advertisement(localName: "Button"), from: id, entry)
        #expect(history.take(report, at: .zero) == .repeated)
        #expect(history.takeCounts(at: .zero) == nil)
    }

    #if BTHomeEncryption
        private static let key = [UInt8](repeating: 9, count: 16)
        private let lock = ListedDevice(key: "lock", match: .company(2), bthomeKey: key)

        /// Takes an encrypted report with a packet id.
        private mutating func take(counter: UInt32, packet: Int64 = 1, at seconds: Double) throws -> BTHomeCounter.Order
        {
            let packet = try BTHomeObject(try #require(BTHomeKind(id: 0)), .number(packet))
            let sealed = try BTHome([packet, try button(.press)]).sealed(
                key: try #require(BTHomeKey(Self.key)), address: [0xC4, 0x7C, 0x8D, 0, 0, 1], counter: counter)
            let report = DeviceReport(of: try sealed.advertisement(), from: id, lock)
            return history.take(report, at: .seconds(seconds))
        }

        @Test mutating func `a higher counter is new whatever the packet id is`() throws {
            #expect(try take(counter: 1000, at: 0) == .new)
            #expect(try take(counter: 1000, at: 1) == .repeated)
            #expect(try take(counter: 1001, at: 2) == .new)
        }

        @Test mutating func `the latest encrypted reports in turn are no attack, and not new`() throws {
            #expect(try take(counter: 1000, at: 0) == .new)
            #expect(try take(counter: 1001, packet: 2, at: 1) == .new)
            for second in 2..<59 {
                #expect(try take(counter: 1000, at: Double(second)) == .outdated)
                #expect(try take(counter: 1001, packet: 2, at: Double(second) + 0.5) == .repeated)
            }
            #expect(history.takeCounts(at: .seconds(59)) == nil)
            #expect(try take(counter: 1000, at: 61) == .outdated)
            #expect(history.takeCounts(at: .seconds(61)) == ReportHistory.Counts(outdated: 1))
        }

        @Test mutating func `recorded reports with low counters that alternate are new once in ten minutes`() throws {
            #expect(try take(counter: 5000, at: 0) == .new)
            #expect(try take(counter: 7, at: 1) == .new)
            #expect(history.takeCounts(at: .seconds(1)) == ReportHistory.Counts(restarts: 1))
            for second in 2..<600 {
                #expect(try take(counter: 6, at: Double(second)) == .outdated)
                #expect(try take(counter: 7, at: Double(second) + 0.5) == .repeated)
            }
            // The device itself is heard at any time.
            #expect(try take(counter: 5001, at: 600) == .new)
            #expect(try take(counter: 6, at: 600.5) == .outdated)
            #expect(try take(counter: 6, at: 601) == .new)
            #expect(history.takeCounts(at: .seconds(3600)) == nil)
            #expect(history.takeCounts(at: .seconds(3601)) == ReportHistory.Counts(outdated: 599, restarts: 1))
        }
    #endif
}
