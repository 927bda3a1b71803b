import ArgumentParser
import BLE
import BLESimulation

/// A peripheral in range of a fake bluetoothd, and how it pairs.
struct FakePeripheral: Sendable {
    var definition: PeripheralDefinition
    var pairing = SimulatedPairing.justWorks

    init(_ definition: PeripheralDefinition, pairing: SimulatedPairing = .justWorks) {
        self.definition = definition
        // Where nothing says how near it is, it is in the room.
        self.definition.advertisement.rssi = definition.advertisement.rssi ?? -60
        self.pairing = pairing
    }

    /// The peripherals without any option.
    static let usual: [FakePeripheral] = [
        FakePeripheral(.heartRateStrap()), FakePeripheral(.battery()), FakePeripheral(.weatherStation()),
        FakePeripheral(.lamp()), FakePeripheral(.sealedBox(), pairing: .comparison { _ in true }),
    ]

    /// What the peripheral does when it pairs, by the words of the command line and the control.
    static let pairings: [(String, SimulatedPairing)] = [
        ("just-works", .justWorks), ("display", .display(Passkey(123456)!)), ("comparison", .comparison { _ in true }),
        ("keyboard", .keyboard { $0 }), ("rejected", .rejected), ("unanswered", .unanswered),
    ]

    /// The argument of `--peripheral`: a name or a file, then pairs of a key and a value.
    init(argument: String) throws {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        var values: [String: String] = [:]
        for pair in parts.dropFirst() {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard sides.count == 2, ["name", "address", "rssi", "pairing"].contains(sides[0]) else {
                throw ValidationError("\"\(pair.excerpt)\" is not name=, address=, rssi= or pairing= with a value.")
            }
            values[sides[0]] = sides[1]
        }
        self.init(try PeripheralDefinition(argument: parts[0], name: values["name"]))
        if let address = values["address"] { try set(address: address) }
        if let rssi = values["rssi"] {
            guard let strength = Int(rssi), (-127...20).contains(strength) else {
                throw ValidationError("rssi= is a signal strength in dBm, -127 to 20.")
            }
            definition.advertisement.rssi = strength
        }
        if let name = values["pairing"] {
            guard let known = Self.pairings.first(where: { $0.0 == name }) else {
                throw ValidationError("pairing= is one of: \(Self.pairings.map(\.0).joined(separator: ", ")).")
            }
            pairing = known.1
        }
    }

    mutating func set(address: String) throws {
        let id = Peripheral.ID(rawValue: address.uppercased())
        guard id.isAddress else {
            throw ValidationError("\"\(address.excerpt)\" is not a device address, such as F0:F1:F2:F3:F4:F5.")
        }
        definition.address = id.rawValue
    }
}
