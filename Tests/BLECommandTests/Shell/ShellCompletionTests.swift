import BLE
import Foundation
import Testing

@testable import BLECommand

@Suite struct ShellCompletionTests {
    private static let database = GATTDatabase(services: [
        GATTService(
            uuid: BluetoothUUID(0x180F), handle: 1, isPrimary: true,
            characteristics: [
                GATTCharacteristic(
                    uuid: BluetoothUUID(0x2A19), handle: 2, properties: [.read, .notify],
                    descriptors: [GATTDescriptor(uuid: BluetoothUUID(0x2902), handle: 4)]),
                GATTCharacteristic(uuid: BluetoothUUID(0x2A19), handle: 5, properties: .read),
                GATTCharacteristic(uuid: BluetoothUUID(0xFF01), handle: 7, properties: .write),
            ])
    ])

    private static let vocabulary = ShellVocabulary(
        peripherals: [
            .init(id: "C0:00:00:00:00:01", name: "Simulated Strap"),
            .init(id: "C0:00:00:00:00:02", name: "Simulated Lamp"),
            .init(id: "C0:00:00:00:00:03", name: "Evil\u{1B}[2J"), .init(id: "C0:00:00:00:00:04", name: nil),
            .init(id: "C0:00:00:00:00:05", name: "Twin"), .init(id: "C0:00:00:00:00:06", name: "twin"),
            .init(id: "C0:00:00:00:00:07", name: #"A "B""#),
        ])

    private static var held: ShellVocabulary {
        var vocabulary = vocabulary
        (vocabulary.isHolding, vocabulary.database) = (true, database)
        return vocabulary
    }

    private func completed(_ text: String, _ vocabulary: ShellVocabulary = vocabulary) -> String? {
        ShellCompletion(of: text, in: vocabulary).map { text.dropLast($0.replacedLength) + $0.replacement }
    }

    @Test(
        arguments: [
            ("sc", "scan "), ("rea", "read "), ("connec", "connect "), ("help unp", "help unpair "),
            ("scan --dur", "scan --duration "), ("scan --sort rs", "scan --sort rssi "),
            ("scan --service heart-r", "scan --service heart-rate "), ("profile batt", "profile battery "),
            ("profile battery sim", #"profile battery "Simulated "#),
            ("use sim", #"use "Simulated "#), (#"use "Simulated S"#, #"use "Simulated Strap" "#),
            (#"use "Sim"#, #"use "Simulated "#), ("use simulated\\ l", #"use "Simulated Lamp" "#),
            ("use a", #"use "A \"B\"" "#), ("use c0:00:00:00:00:04", "use C0:00:00:00:00:04 "),
            ("read tw", nil), ("read x battery-level-s", "read x battery-level-status "), ("numbers he", nil),
            ("scan # com", nil), ("read --bus ", nil), ("nonsense x", nil),
        ])
    func `words are completed by their place`(_ text: String, _ line: String?) {
        #expect(completed(text) == line)
    }

    @Test(
        arguments: [
            ("read batt", "read battery-level"), ("read battery-level#", "read battery-level#2 "),
            ("read 2a", "read 2a19 "), ("write ff", "write ff01 "), ("write 0x0007", "write 0x0007 "),
            ("expect batt", "expect battery-level"), ("read 0x0004", "read 0x0004 "),
            ("notify b", "notify battery-level "), ("read sim", #"read "Simulated "#),
            // Another peripheral has other characteristics.
            (#"read "Simulated Lamp" heart-rate-m"#, #"read "Simulated Lamp" heart-rate-m"#),
        ])
    func `the held peripheral's own attributes are completed`(_ text: String, _ line: String) {
        #expect(completed(text, Self.held) == line)
    }

    @Test func `no peripheral is offered where a file is meant`() {
        #expect(completed("update sim", Self.held) == nil)
        #expect(completed("update sim") == #"update "Simulated "#)
    }

    @Test(
        arguments: [
            "read ff", "read 0x0007", "write batt", "write 0x0002", "write 0x0004", "notify ff", "notify 0x0004",
            "notify 0x0005", "notify 0x0007", "expect ff",
        ])
    func `a characteristic is not offered for what it does not allow`(_ text: String) {
        #expect(completed(text, Self.held) == nil)
    }

    @Test func `files are completed where a command sends one`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ble-files-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory + "/app images", withIntermediateDirectories: true)
        for name in ["zephyr.signed.bin", "zephyr.hex", ".hidden", "evil\u{1B}[2J", "app images/one.bin"] {
            try Data().write(to: URL(filePath: directory + "/" + name))
        }
        let start = "send C0:00:00:00:00:01 \(directory)/"
        #expect(completed(start + "zephyr.s") == start + "zephyr.signed.bin ")
        #expect(completed(start + "z") == start + "zephyr.")
        #expect(completed(start + "e") == nil)
        #expect(completed(start + ".h") == start + ".hidden ")
        #expect(
            ShellCompletion(of: start, in: Self.vocabulary)?.candidates
                == ["app images/", "zephyr.hex", "zephyr.signed.bin"].map { "\(directory)/\($0)" })
        // A directory is followed by a file in it.
        let inside = try #require(completed("update \(directory)/app", Self.held))
        #expect(inside == "update \"\(directory)/app images/")
        #expect(completed(inside, Self.held) == "update \"\(directory)/app images/one.bin\" ")
        #expect(completed(start + "none/") == nil)
    }

    @Test func `candidates are in order, and those of the held link come first`() {
        #expect(
            ShellCompletion(of: "read ", in: Self.held)?.candidates == ["battery-level", "battery-level#2"])
        #expect(ShellCompletion(of: "write ", in: Self.held)?.candidates == ["ff01"])
        #expect(ShellCompletion(of: "notify ", in: Self.held)?.candidates == ["battery-level"])
        #expect(ShellCompletion(of: "profile ", in: Self.held)?.candidates == ["battery"])
        let peripherals = ShellCompletion(of: "use ", in: Self.held)?.candidates
        #expect(
            peripherals == [
                #"A "B""#, "C0:00:00:00:00:03", "C0:00:00:00:00:04", "C0:00:00:00:00:05", "C0:00:00:00:00:06",
                "Simulated Lamp", "Simulated Strap",
            ])
    }

    @Test func `options of the session are not offered, and those of the command are`() {
        let options = ShellCompletion(of: "read --", in: Self.vocabulary)?.candidates
        #expect(options == ["--guess", "--help", "--json", "--timeout"])
    }

    @Test func `no candidate controls a terminal`() {
        for text in ["use ", "read ", "read x ", "", "profile ", "help "] {
            for word in ShellCompletion(of: text, in: Self.vocabulary)?.candidates ?? [] {
                #expect(word == word.harmless)
            }
        }
    }

    @Test(arguments: [("A\u{A0}B", "\"A\u{A0}B\" "), ("\u{301}x", "C0:00:00:00:00:01 ")])
    func `a completed name is one word of the line`(_ name: String, _ word: String) {
        let vocabulary = ShellVocabulary(peripherals: [.init(id: "C0:00:00:00:00:01", name: name)])
        #expect(completed("use ", vocabulary) == "use " + word)
    }

    @Test func `every command with a peripheral has a place`() {
        for (name, places) in ShellAction.places where name != "help" {
            #expect(ShellVocabulary.commands.contains { $0.name == name || $0.aliases.contains(name) }, "\(name)")
            #expect(!places.isEmpty)
        }
    }
}

@Suite struct ShellColumnsTests {
    @Test func `words are listed downward in columns that fit`() {
        #expect(ShellColumns.lines(["a", "bb", "ccc", "d"], columns: 12, rows: 10) == ["a    ccc", "bb   d"])
        #expect(ShellColumns.lines(["aaaa", "b"], columns: 3, rows: 10) == ["a…", "b"])
        #expect(ShellColumns.lines([], columns: 80, rows: 10) == [])
    }

    @Test func `a list that is too long says how many are missing`() {
        let lines = ShellColumns.lines((1...10).map(String.init), columns: 4, rows: 3)
        #expect(lines == ["1", "2", "and 8 more"])
    }

    @Test(arguments: ["$(touch x)", "`touch x`", "a;reboot", "a b", "-rf", "a\"", "ü", "a\u{A0}b"])
    func `a name that the user's own shell would evaluate is completed by its address`(name: String) {
        let vocabulary = ShellVocabulary(peripherals: [
            .init(id: "C0:00:00:00:00:01", name: name), .init(id: "C0:00:00:00:00:02", name: "Lamp-1.2_b"),
        ])
        #expect(vocabulary.plainPeripheralWords == ["C0:00:00:00:00:01", "Lamp-1.2_b"])
    }
}
