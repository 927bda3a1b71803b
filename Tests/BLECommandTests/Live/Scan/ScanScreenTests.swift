import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@testable import BLECommand

/// Keys and events of a scan in, lines out.
@Suite(.hangLimit) struct ScanScreenTests {
    private let clock = ManualClock()
    private let central: Central

    init() async throws {
        central = try await Central(backend: .simulated(SimulatedRadio()), configuration: .quiet())
    }

    private static let climate = [BluetoothUUID(0xFCD2): [0x40, 0x02, 0xCA, 0x09, 0x03, 0xBF, 0x13] as [UInt8]]

    private func discovery(_ number: Int, _ advertisement: Advertisement) -> Discovery {
        let id = Peripheral.ID(rawValue: "C0:00:00:00:00:0\(number)")
        return Discovery(peripheral: central.peripheral(id), advertisement: advertisement)
    }

    /// Returns a screen with a strap, an unnamed peripheral of Apple and a thermometer, of descending strength.
    private func screen(_ order: ScanTable.Order = .rssi) -> ScanScreen {
        var screen = ScanScreen(order: order, clock: clock)
        let strap = Advertisement(localName: "Strap", rssi: -40, serviceUUIDs: [.heartRate])
        let unnamed = Advertisement(rssi: -60, manufacturerData: [0x004C: [0x10, 0x05]])
        let sensor = Advertisement(localName: "Thermometer", rssi: -80, serviceData: Self.climate)
        for (number, advertisement) in [(1, strap), (2, unnamed), (3, sensor)] {
            screen.apply(.found(discovery(number, advertisement)))
        }
        return screen
    }

    /// Returns a screen with this many peripherals, in the order of discovery.
    private func crowd(_ count: Int) -> ScanScreen {
        var screen = ScanScreen(order: .found, clock: clock)
        for number in 1...count {
            let peripheral = central.peripheral(Peripheral.ID(rawValue: "thing \(number)"))
            screen.apply(.found(Discovery(peripheral: peripheral, advertisement: Advertisement(rssi: -50))))
        }
        return screen
    }

    private func type(_ text: String, into screen: inout ScanScreen) {
        for scalar in text.unicodeScalars { _ = screen.press(.character(scalar)) }
    }

    private func lines(_ screen: inout ScanScreen, columns: Int = 80, rows: Int = 24) -> [String] {
        let lines = screen.lines(columns: columns, rows: rows)
        #expect(lines.count < rows)
        #expect(lines.allSatisfy { $0.columns <= columns })
        #expect(lines.allSatisfy { !$0.unicodeScalars.contains(where: ForeignText.isCommand) })
        return lines
    }

    /// Returns the last digits of the addresses in the list.
    private func ids(_ screen: inout ScanScreen) -> String {
        String(lines(&screen, columns: 160).compactMap { $0.firstMatch(of: /C0:00:00:00:00:0(\d)/)?.1.first })
    }

    /// Returns the line with the mark, without it.
    private func marked(_ screen: inout ScanScreen, rows: Int = 24) -> String? {
        lines(&screen, columns: 160, rows: rows).first { $0.hasPrefix(">") }.map { String($0.dropFirst()) }
    }

    // MARK: Order

    @Test func `s goes through the orders, S back, and r reverses`() {
        var screen = screen()
        #expect(ids(&screen) == "123")
        #expect(lines(&screen).suffix(2).first == "3 peripherals · by strength")
        type("r", into: &screen)
        #expect(ids(&screen) == "321")
        type("s", into: &screen)
        #expect(ids(&screen) == "312")
        #expect(lines(&screen).suffix(2).first == "3 peripherals · by name, reversed")
        type("S", into: &screen)
        #expect(ids(&screen) == "321")
        type("rS", into: &screen)
        #expect(lines(&screen).suffix(2).first == "3 peripherals · by discovery")
    }

    // MARK: Filter

    @Test(arguments: [
        ("thermo", "3"), ("STRAP", "1"), ("00:02", "2"), ("apple", "2"), ("heart rate", "1"), ("180d", "1"),
        ("humidity", "3"), ("rate heart", "1"), ("1005", "2"), ("strap humidity", ""), (" ", "123"), ("00:0", "123"),
    ])
    func `the filter finds words of names, addresses, vendors, services and readings`(
        _ words: String, _ found: String
    ) {
        var screen = screen()
        type("/\(words)", into: &screen)
        #expect(ids(&screen) == found)
    }

    @Test func `the filter is edited, kept by Enter and removed by Escape`() {
        var screen = screen()
        type("/q strax", into: &screen)
        #expect(screen.mode == .filter)
        #expect(lines(&screen).last == "Filter: q strax▏ ⏎ done  Esc clear")
        _ = screen.press(.backspace)
        _ = screen.press(.eraseWord)
        #expect(lines(&screen).last == "Filter: q ▏ ⏎ done  Esc clear")
        _ = screen.press(.eraseLine)
        type("strap", into: &screen)
        _ = screen.press(.enter)
        #expect(screen.mode == .list)
        #expect(ids(&screen) == "1")
        #expect(lines(&screen).suffix(2).first == "1 of 3 peripherals with “strap” · by strength")
        #expect(screen.press(.escape) == nil)
        #expect(ids(&screen) == "123")
        type("/apple", into: &screen)
        _ = screen.press(.escape)
        #expect(screen.mode == .list && ids(&screen) == "123")
        type("/", into: &screen)
        _ = screen.press(.backspace)
        #expect(screen.mode == .list)
    }

    @Test func `what is pasted into the filter is text, and nothing elsewhere`() {
        var screen = screen()
        #expect(screen.press(.paste("q\r/strap")) == nil)
        #expect(screen.mode == .list && ids(&screen) == "123")
        type("/", into: &screen)
        #expect(screen.press(.paste("\u{1B}[2Jq\r\n\u{9B}\u{202E}")) == nil)
        #expect(lines(&screen).last == "Filter: [2Jq▏ ⏎ done  Esc clear")
        _ = screen.press(.paste(String(repeating: "漢", count: 5000)))
        _ = lines(&screen)
        for _ in 0..<100 { _ = screen.press(.backspace) }
        #expect(lines(&screen).last == "Filter: ▏ ⏎ done  Esc clear")
    }

    @Test func `a peripheral is found when its reading or its name changes`() {
        var screen = screen()
        type("/lamp", into: &screen)
        #expect(ids(&screen) == "")
        screen.apply(.updated(discovery(2, Advertisement(localName: "Lamp", rssi: -60))))
        #expect(ids(&screen) == "2")
        screen.apply(.updated(discovery(2, Advertisement(localName: "Light", rssi: -60))))
        #expect(ids(&screen) == "")
    }

    // MARK: Selection

    @Test func `the arrows select, and the selection stays with its peripheral`() {
        var screen = screen()
        #expect(marked(&screen) == nil)
        _ = screen.press(.down)
        #expect(marked(&screen)?.contains("Strap") == true)
        _ = screen.press(.down)
        _ = screen.press(.down)
        _ = screen.press(.down)
        #expect(marked(&screen)?.contains("Thermometer") == true)
        type("r", into: &screen)
        #expect(ids(&screen) == "321")
        #expect(marked(&screen)?.contains("Thermometer") == true)
        _ = screen.press(.up)
        #expect(marked(&screen)?.contains("Thermometer") == true)
        // When it leaves, no other one takes its place until a key moves the selection.
        screen.apply(.lost(discovery(3, Advertisement()).peripheral))
        #expect(marked(&screen) == nil)
        _ = screen.press(.enter)
        #expect(screen.mode == .list)
        screen.apply(.found(discovery(3, Advertisement(localName: "Thermometer", rssi: -80))))
        #expect(marked(&screen)?.contains("Thermometer") == true)
        screen.apply(.lost(discovery(3, Advertisement()).peripheral))
        _ = lines(&screen)
        _ = screen.press(.down)
        #expect(marked(&screen)?.contains("C0:00:00:00:00:02") == true)
        screen.apply(.lost(discovery(2, Advertisement()).peripheral))
        _ = lines(&screen)
        _ = screen.press(.up)
        #expect(marked(&screen)?.contains("Strap") == true)
        _ = screen.press(.escape)
        #expect(marked(&screen) == nil)
        screen.removeAll()
        _ = screen.press(.down)
        #expect(marked(&screen) == nil)
    }

    @Test func `a long list follows the selection`() {
        var screen = crowd(1000)
        func shown(_ key: Key?) -> (first: String?, marked: String?, status: String?) {
            if let key { _ = screen.press(key) }
            let lines = lines(&screen, columns: 160, rows: 14)
            func name(_ line: String?) -> String? { line?.firstMatch(of: /thing \d+/).map { String($0.0) } }
            return (name(lines[1]), name(lines.first { $0.hasPrefix(">") }), lines.suffix(2).first)
        }
        #expect(shown(nil).status == "1000 peripherals · 1–10 shown · by discovery")
        #expect(shown(.pageDown) == ("thing 1", "thing 1", "1000 peripherals · 1–10 shown · by discovery"))
        #expect(shown(.pageDown) == ("thing 2", "thing 11", "1000 peripherals · 2–11 shown · by discovery"))
        #expect(shown(.end) == ("thing 991", "thing 1000", "1000 peripherals · 991–1000 shown · by discovery"))
        #expect(shown(.pageUp) == ("thing 990", "thing 990", "1000 peripherals · 990–999 shown · by discovery"))
        #expect(shown(.home) == ("thing 1", "thing 1", "1000 peripherals · 1–10 shown · by discovery"))
        _ = shown(.end)
        for number in 20...1000 {
            screen.apply(.lost(central.peripheral(Peripheral.ID(rawValue: "thing \(number)"))))
        }
        // The screen stays full.
        #expect(shown(nil).first == "thing 10")
    }

    @Test(arguments: [(1, 1), (10, 1), (80, 5), (80, 6), (3, 24), (20, 7), (200, 50)])
    func `a terminal of any size has lines that fit`(_ columns: Int, _ rows: Int) {
        for keys in [[], [.down, .down, .down], [.enter], [.enter, .end], [.character("?")], [.character("/")]]
            as [[Key]]
        {
            for hasKeys in [true, false] {
                var screen = screen()
                screen.readKeys(hasKeys)
                _ = lines(&screen, columns: columns, rows: rows)
                for key in keys { _ = screen.press(key) }
                _ = lines(&screen, columns: columns, rows: rows)
            }
        }
    }

    // MARK: Freezing

    @Test func `a frozen screen stands still while advertisements are counted`() {
        var screen = screen()
        let before = lines(&screen)
        type("f", into: &screen)
        clock.advance(by: .seconds(5))
        screen.apply(.updated(discovery(1, Advertisement(localName: "Other", rssi: -99))))
        screen.apply(.lost(discovery(2, Advertisement()).peripheral))
        screen.apply(.found(discovery(4, Advertisement(rssi: -30))))
        let frozen = lines(&screen)
        #expect(frozen.dropLast(2) == before.dropLast(2))
        #expect(
            frozen.suffix(2).first
                == "frozen for 5 s, 2 advertisements since · 3 peripherals · by strength")
        #expect(frozen.last?.contains("f thaw") == true)
        // What is frozen can be sorted, searched and opened.
        type("r", into: &screen)
        #expect(ids(&screen) == "321")
        type("/apple", into: &screen)
        #expect(ids(&screen) == "2")
        _ = screen.press(.enter)
        _ = screen.press(.down)
        _ = screen.press(.enter)
        #expect(lines(&screen).first == "C0:00:00:00:00:02")
        type("f", into: &screen)
        #expect(lines(&screen).contains { $0.contains("lost, last heard 5.0 s ago") })
        _ = screen.press(.escape)
        _ = screen.press(.escape)
        #expect(ids(&screen) == "314")
    }

    // MARK: Details

    @Test func `the details have the fields, the readings with their ages and the last advertisements`() throws {
        var screen = screen()
        clock.advance(by: .seconds(2))
        let second = [BluetoothUUID(0xFCD2): [0x40, 0x03, 0xBF, 0x13] as [UInt8]]
        for _ in 0..<2 {
            screen.apply(
                .updated(discovery(3, Advertisement(localName: "Thermometer", rssi: -70, serviceData: second))))
            clock.advance(by: .milliseconds(500))
        }
        _ = screen.lines(columns: 80, rows: 40)
        _ = screen.press(.end)
        _ = screen.press(.enter)
        let lines = lines(&screen, rows: 40).map { $0.trimmingSuffix(" ") }
        #expect(lines.first == "Thermometer  C0:00:00:00:00:03")
        for line in [
            "Signal        -70 dBm ▂▃··· average -76 dBm, last heard 0.5 s ago",
            "Received      3 advertisements in 2.5 s",
            "Format        BTHome: humidity 50.55 %",
            "Service data  fcd2=4003bf13",
            "Readings      temperature 25.06 °C  3.0 s ago",
            "              humidity 50.55 %  0.5 s ago",
            "RSSI in dBm, -80 to -70, one column a second",
            "   0.5 s  -70 the same",
            "   1.0 s  -70 fcd2=4003bf13",
            "   3.0 s  -80 fcd2=4002ca0903bf13",
        ] {
            #expect(lines.contains(line), "\(line)\n\(lines.joined(separator: "\n"))")
        }
        #expect(lines.contains { $0.hasPrefix("  -70 ") && $0.hasSuffix("█") })
        #expect(lines.last == "Esc back  ↑↓ scroll  f freeze  q quit")
        // Also three seconds ago, with a silent one after it.
        #expect(lines.contains { $0.hasPrefix("  -90 ") && $0.hasSuffix(" █ █") })
        _ = screen.press(.left)
        #expect(screen.mode == .list)
    }

    @Test func `the details name vendors, services, flags and the interval, and scroll`() {
        var screen = ScanScreen(clock: clock)
        var advertisement = Advertisement(
            localName: "Everything", rssi: -50, txPower: 4, serviceUUIDs: [.heartRate, .battery],
            manufacturerData: [0x0059: [UInt8](repeating: 0xAB, count: 60)], appearance: Appearance(rawValue: 0x0341),
            addressType: .random, isConnectable: true, flags: [.generalDiscoverable, .classicNotSupported],
            advertisingInterval: .milliseconds(100))
        advertisement.structures = [AdvertisingStructure(type: 0x24, bytes: [1, 2])]
        for _ in 0..<30 {
            screen.apply(.updated(discovery(1, advertisement)))
            clock.advance(by: .milliseconds(102))
        }
        _ = screen.lines(columns: 80, rows: 24)
        _ = screen.press(.down)
        _ = screen.press(.enter)
        let all = lines(&screen, rows: 60)
        for text in [
            "Everything  C0:00:00:00:00:01 (random address)", "Vendor        Nordic Semiconductor ASA",
            "Services      Heart Rate (180d), Battery (180f)", "Power         4 dBm",
            "Appearance    Heart Rate Sensor: Heart Rate Belt",
            "Flags         06 general discoverable, Classic not supported", "Connectable   yes",
            "Manufacturer  0059:ababab", "one about every 102 ms; states 100 ms", "Type 24       0102 URI",
        ] {
            #expect(all.contains { $0.contains(text) }, "\(text)\n\(all.joined(separator: "\n"))")
        }
        // All bytes are shown.
        #expect(all.joined().count { $0 == "b" } >= 60)
        let first = lines(&screen)
        _ = screen.press(.pageDown)
        #expect(lines(&screen)[0] == first[0])
        #expect(lines(&screen)[1] != first[1])
        #expect(first.suffix(2).first?.hasPrefix("lines 1–20 of ") == true)
        for _ in 0..<10 { _ = screen.press(.end) }
        #expect(lines(&screen).dropLast(2).last?.contains("ababab") == false)
        for _ in 0..<10 { _ = screen.press(.home) }
        #expect(lines(&screen) == first)
    }

    @Test func `text from the air commands nothing, in the list and in the details`() {
        var screen = ScanScreen(clock: clock)
        let evil = "\u{1B}[2J\u{9B}31m\u{7}\r\n\u{202E}evil"
        let text: [UInt8] = [0x40, 0x53, 0x04, 0x1B, 0x5B, 0x32, 0x4A]
        screen.apply(
            .found(
                discovery(
                    1,
                    Advertisement(localName: evil, rssi: 20, serviceData: [BluetoothUUID(0xFCD2): text]))))
        #expect(lines(&screen).joined().contains("evil"))
        _ = screen.press(.down)
        _ = screen.press(.enter)
        #expect(lines(&screen, rows: 50).first?.contains("evil") == true)
    }

    @Test func `keys end the screen, suspend it and explain themselves`() {
        var screen = screen()
        for key in [.character("q"), .endOfInput] as [Key] { #expect(screen.press(key) == .quit) }
        #expect(screen.press(.suspend) == .suspend)
        #expect(screen.press(.redraw) == .redraw)
        type("/q", into: &screen)
        #expect(screen.mode == .filter)
        #expect(screen.press(.suspend) == .suspend)
        _ = screen.press(.escape)
        _ = screen.press(.enter)
        #expect(screen.press(.character("q")) == .quit)
        _ = screen.press(.escape)
        #expect(screen.press(.character("?")) == nil)
        let help = lines(&screen)
        #expect(help.contains { $0.contains("sort by the next") })
        #expect(!help.contains { $0.contains("…") })
        #expect(screen.press(.character("x")) == nil)
        #expect(screen.mode == .list)
    }

    @Test(arguments: [6, 10, 16, 17])
    func `on a low terminal, the help is scrolled`(_ rows: Int) {
        var screen = screen()
        type("?", into: &screen)
        func shown() -> [String] { Array(lines(&screen, rows: rows).dropLast(2)) }
        let height = rows - 3
        #expect(shown().first?.contains("select a peripheral") == true)
        #expect(shown().count == min(14, height))
        var all = Set(shown())
        for _ in 0..<14 where height < 14 {
            #expect(screen.press(.down) == nil)
            all.formUnion(shown())
        }
        #expect(all.count == 14)
        #expect(all.contains { $0.contains("Ctrl-Z") })
        guard height < 14 else {
            #expect(screen.press(.down) == nil)
            return #expect(screen.mode == .list)
        }
        #expect(lines(&screen, rows: rows).suffix(2).first == "lines \(15 - height)–14 of 14")
        #expect(screen.mode == .help)
        #expect(screen.press(.home) == nil)
        #expect(shown().first?.contains("select a peripheral") == true)
        #expect(screen.press(.escape) == nil)
        #expect(screen.mode == .list)
    }

    @Test func `of more than a thousand peripherals, the first are listed, and that is told`() {
        var screen = crowd(1001)
        func status() -> String? { lines(&screen, columns: 160, rows: 14).suffix(2).first }
        #expect(status() == "the first 1000 peripherals · 1–10 shown · by discovery")
        type("/thing 7", into: &screen)
        #expect(status()?.hasPrefix("271 of the first 1000 peripherals with “thing 7” ") == true)
        screen.apply(.lost(central.peripheral(Peripheral.ID(rawValue: "thing 7"))))
        #expect(status()?.hasPrefix("270 of 999 peripherals with") == true)
        var silent = crowd(1001)
        silent.readKeys(false)
        #expect(lines(&silent).last == "… 979 more · the first 1000 peripherals")
    }

    @Test func `without keys, the list is all there is, and counts what does not fit`() {
        var screen = crowd(1000)
        screen.readKeys(false)
        let lines = lines(&screen)
        #expect(lines.count == 23)
        #expect(lines.last == "… 979 more")
        #expect(lines[1].contains("thing 1 "))
    }

    @Test(arguments: [true, false])
    func `what stays at the end, and without keys, is the scan as it is, and tells the filter`(_ isAtEnd: Bool) {
        var screen = screen()
        type("f/strap", into: &screen)
        _ = screen.press(.enter)
        screen.apply(.updated(discovery(1, Advertisement(localName: "Strap", rssi: -41))))
        screen.apply(.found(discovery(4, Advertisement(localName: "Strap 4", rssi: -30))))
        if isAtEnd { screen.finish() } else { screen.readKeys(false) }
        #expect(ids(&screen) == "41")
        #expect(lines(&screen).contains { $0.hasPrefix("    -41 ") })
        #expect(lines(&screen).last == "2 of 4 peripherals with “strap”")
        #expect(lines(&screen, rows: 4).last == "… 1 more · 2 of 4 peripherals with “strap”")
    }

    @Test func `an opened peripheral that was lost is not in range`() {
        var screen = screen()
        _ = lines(&screen)
        _ = screen.press(.down)
        _ = screen.press(.enter)
        screen.apply(.lost(discovery(1, Advertisement()).peripheral))
        screen.readKeys(false)
        #expect(ids(&screen) == "23")
        screen.readKeys(true)
        #expect(lines(&screen).first?.hasPrefix("Strap") == true)
        screen.finish()
        #expect(screen.mode == .list && ids(&screen) == "23")
    }

    @Test func `an advertisement with another name is not the same`() {
        var screen = ScanScreen(clock: clock)
        for name in ["One", "One", "Two"] { screen.apply(.updated(discovery(1, Advertisement(localName: name)))) }
        _ = lines(&screen)
        _ = screen.press(.down)
        _ = screen.press(.enter)
        let packets = lines(&screen, rows: 40).drop { $0 != "Last advertisements" }.dropFirst().prefix(3)
        #expect(packets.map { $0.hasSuffix("the same") } == [false, true, false])
    }

    @Test func `the end is told while there is one`() {
        var screen = ScanScreen(end: .seconds(10), clock: clock)
        clock.advance(by: .seconds(2.5))
        // None of these shows that a user wants the scan to go on.
        for key in [.suspend, .redraw, .paste("text")] as [Key] { _ = screen.press(key) }
        #expect(lines(&screen).suffix(2).first?.hasSuffix("ends in 7 s unless a key is pressed") == true)
        #expect(screen.end == .seconds(10))
        _ = screen.press(.down)
        #expect(lines(&screen).suffix(2).first?.contains("ends") == false)
        #expect(screen.end == nil)
    }

    @Test func `what has waited while the program was stopped has no interval`() throws {
        var screen = screen()
        func receive() { screen.apply(.updated(discovery(1, Advertisement(localName: "Strap", rssi: -40)))) }
        for _ in 0..<6 {
            clock.advance(by: .seconds(1))
            receive()
        }
        clock.advance(by: .seconds(60))
        for _ in 0..<20 { receive() }
        screen.restartTraces()
        for _ in 0..<20 { receive() }
        _ = lines(&screen)
        _ = screen.press(.down)
        _ = screen.press(.enter)
        func received() throws -> String { try #require(lines(&screen).first { $0.hasPrefix("Received") }) }
        #expect(try received() == "Received      47 advertisements in 66.0 s")
        for _ in 0..<6 {
            clock.advance(by: .seconds(2))
            receive()
        }
        #expect(try received() == "Received      53 advertisements in 78.0 s, one about every 2000 ms")
    }
}

extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
        var text = self
        while text.last == character { text.removeLast() }
        return text
    }
}
