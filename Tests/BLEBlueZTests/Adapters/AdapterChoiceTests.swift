import BLE
import Testing

@testable import BLEBlueZ

@Suite struct AdapterChoiceTests {
    private func tree(_ adapters: [String: Bool]) -> ObjectTree {
        var tree = ObjectTree()
        for (id, isPowered) in adapters {
            var properties = AdapterProperties()
            properties.isPowered = isPowered
            _ = tree.add(BlueZ.path(ofAdapter: id), .adapter(properties))
        }
        return tree
    }

    private func choice(_ adapters: [String: Bool], wanted: String? = nil) throws -> AdapterChoice {
        var choice = AdapterChoice(wanted: wanted)
        try choice.choose(in: tree(adapters))
        return choice
    }

    @Test func `the first adapter that is on is used, or else the first`() throws {
        #expect(try choice(["hci0": false, "hci1": true, "hci2": true]).path == "/org/bluez/hci1")
        #expect(try choice(["hci10": false, "hci9": false]).path == "/org/bluez/hci9")
    }

    @Test func `the one that is wanted is used, on or off`() throws {
        #expect(try choice(["hci0": true, "hci1": false], wanted: "hci1").path == "/org/bluez/hci1")
    }

    @Test func `one that is missing is named with those that are there`() {
        let error = #expect(throws: BLEError.self) { try choice(["hci0": true, "hci1": true], wanted: "hci2") }
        #expect(error?.code == .adapterNotFound)
        #expect(error?.remedy == "Choose one of hci0, hci1.")
        #expect(throws: BLEError.self) { try choice([:]) }
    }

    @Test func `a state is reported once`() throws {
        var choice = try choice(["hci0": true])
        #expect(choice.stateToReport(in: tree(["hci0": true])) == nil)
        #expect(choice.stateToReport(in: tree(["hci0": false])) == .poweredOff)
        #expect(choice.stateToReport(in: tree(["hci0": false])) == nil)
        #expect(choice.stateToReport(in: tree([:])) == .unavailable)
        choice.lost()
        #expect(choice.stateToReport(in: tree(["hci0": true])) == .poweredOn)
    }

    @Test func `another replaces one that is gone, and only then`() throws {
        var choice = try choice(["hci0": true])
        let isReplacedEarly = choice.replaceMissing(in: tree(["hci0": false, "hci1": true]))
        #expect(!isReplacedEarly)
        let isReplaced = choice.replaceMissing(in: tree(["hci1": true]))
        #expect(isReplaced)
        #expect(choice.path == "/org/bluez/hci1")
    }

    @Test func `none replaces the one that is wanted`() throws {
        var choice = try choice(["hci0": true], wanted: "hci0")
        let isReplaced = choice.replaceMissing(in: tree(["hci1": true]))
        #expect(!isReplaced)
        #expect(choice.path == "/org/bluez/hci0")
    }

    @Test func `while the former one is waited for, none replaces it and nothing is reported`() throws {
        var choice = try choice(["hci0": true])
        choice.lost()
        let isKept = choice.keep(in: tree(["hci1": true]))
        #expect(!isKept)
        choice.beginWait()
        let isReplaced = choice.replaceMissing(in: tree(["hci1": true]))
        #expect(!isReplaced)
        #expect(choice.stateToReport(in: tree(["hci1": true])) == nil)
        choice.endWait(in: tree(["hci1": true]))
        #expect(choice.path == "/org/bluez/hci1")
        #expect(choice.stateToReport(in: tree(["hci1": true])) == .poweredOn)
    }

    @Test func `the former one is kept if it is back, or if bluetoothd is gone again`() throws {
        var choice = try choice(["hci1": true])
        let isKept = choice.keep(in: tree(["hci0": true, "hci1": false]))
        #expect(isKept)
        choice.beginWait()
        choice.endWait(in: nil)
        #expect(choice.path == "/org/bluez/hci1")
    }
}
