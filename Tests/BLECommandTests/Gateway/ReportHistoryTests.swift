import BLE
import BLEBTHome
import Testing

@testable import BLECommand

struct ReportHistoryTests {
    private let entry = ListedDevice(key: "button", match: .company(1))
    private var history = ReportHistory()

    /// Takes a report that is not encrypted.
    private mutating func take(
        packet: Int64?, _ button: BTHomeButton = .press, at seconds: Double = 0
    ) throws -> BTHomeCounter.Order {
        var objects: [BTHomeObject] = []
        if let packet { objects.append(try BTHomeObject(try #require(BTHomeKind(id: 0)), .number(packet))) }
        objects.append(try BTHomeObject(try #require(BTHomeKind(id: 0x3A)), .button(button)))
        let advertisement = try BTHome(objects).advertisement()
        return history.take(
            DeviceReport(of: advertisement, from: "C4:7C:8D:00:00:01", entry), at: .seconds(seconds))
    }

    @Test mutating func `a report with the same packet id is the same, however long ago`() throws {
        #expect(try take(packet: 1) == .new)
        #expect(try take(packet: 1, at: 0.1) == .repeated)
        #expect(try take(packet: 1, at: 3600) == .repeated)
        #expect(try take(packet: 2, at: 3601) == .new)
        #expect(try take(packet: 1, at: 3602) == .new)
        // Also if a device sends something else with it.
        #expect(try take(packet: 1, .doublePress, at: 3603) == .repeated)
    }

    @Test mutating func `without a packet id, the same report is new after a silence`() throws {
        #expect(try take(packet: nil) == .new)
        for tenth in 1...100 { #expect(try take(packet: nil, at: Double(tenth) / 10) == .repeated) }
        #expect(try take(packet: nil, at: 13.9) == .repeated)
        #expect(try take(packet: nil, at: 17.9) == .new)
        #expect(try take(packet: nil, .longPress, at: 18) == .new)
        #expect(try take(packet: nil, at: 18.1) == .new)
    }

    @Test mutating func `an advertisement without a report is nothing new`() {
        let report = DeviceReport(of: Advertisement(localName: "Button"), from: "C4:7C:8D:00:00:01", entry)
        #expect(history.take(report, at: .zero) == .repeated)
        #expect(history.takeOutdatedCount(at: .zero) == nil)
    }
}
