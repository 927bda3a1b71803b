import BLE
import BLESimulation
import Foundation

@testable import BLECommand

/// A street with a gateway every 10 m.
struct Street {
    let length: Double
    /// The weakest signal that a gateway hears, in dBm.
    private static let reach = -88.0

    init(gateways: Int) { length = Double(gateways) * 10 }

    static func name(_ gateway: Int) -> String { "gateway-\(String(1000 + gateway).dropFirst())" }

    /// Returns how a gateway hears an advertisement. Nil if it does not.
    ///
    /// With a path loss exponent of 3, as in houses, and noise of up to 4 dB.
    func strength(of walker: Walker, at gateway: Int, _ random: inout SeededGenerator) -> Int? {
        let distance = max(abs(walker.position - Double(gateway) * 10 - 5), 0.5)
        guard distance < 20 else { return nil }
        let strength = -55 - 30 * log10(distance) + Double.random(in: -4...4, using: &random)
        return strength > Self.reach ? Int(strength) : nil
    }
}

/// A device that walks along a street, and turns at its ends.
struct Walker {
    let id: Peripheral.ID
    let entry: ListedDevice
    /// In meters, and meters a second.
    private(set) var position: Double
    private var speed: Double
    /// The gateway that has published it last.
    var owner: String?

    init(_ number: Int, on street: Street, _ random: inout SeededGenerator) {
        let digits = String(0x10000 + number, radix: 16).uppercased().dropFirst()
        id = Peripheral.ID(rawValue: "C4:7C:8D:00:\(digits.prefix(2)):\(digits.dropFirst(2))")
        entry = ListedDevice(key: "device \(number)", match: .address(id))
        position = Double.random(in: 0..<street.length, using: &random)
        speed = Double.random(in: -1.5...1.5, using: &random)
    }

    /// Walks for a second.
    mutating func walk(_ street: Street) {
        position += speed
        if !(0...street.length ~= position) { speed.negate() }
    }
}
