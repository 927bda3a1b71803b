internal import BLE
internal import BLEESPHome
internal import DBus

/// A device in the local network that speaks ESPHome's native API, as it announces itself.
///
/// Bluetooth proxies are such devices, but not all of these are proxies: an announcement does not say whether a device
/// has Bluetooth. The texts are the device's own, and may have any characters.
public struct FoundProxy: Hashable, Sendable {
    /// The name by which it is announced.
    public let name: String
    /// The name for people. Nil if it announces none.
    public let friendlyName: String?
    /// The name of its machine, such as `attic.local`.
    public let host: String
    /// Its address, as numbers. One that is valid on one link only has the number of the interface: `fe80::1%2`.
    public let address: String
    /// The port of its native API.
    public let port: UInt16
    /// The address of its hardware, such as `AA:BB:CC:DD:EE:FF`. Nil if it announces none.
    public let mac: String?
    /// The version of its firmware. Nil if it announces none.
    public let version: String?
    /// The name of the project that its firmware is made from, such as `esphome.bluetooth-proxy`. Nil if it announces
    /// none.
    public let project: String?
    /// Whether clients need a key.
    public let isEncrypted: Bool

    /// Reads Avahi's answer about a service. Nil if that is not one.
    init?(_ answer: [DBusValue]) {
        guard answer.count >= 10, let name = answer[2].string, let host = answer[5].string,
            let address = answer[7].string, let port = answer[8].integer.flatMap({ UInt16(exactly: $0) }),
            !name.isEmpty, !address.isEmpty, port > 0
        else { return nil }
        let facts = Self.facts(answer[9].elements?.compactMap(\.bytes) ?? [])
        let isOfLink = Self.isOfLink(address)
        let interface = answer[0].integer.map { "%\($0)" } ?? ""
        (self.name, self.host, self.port) = (name, host, port)
        self.address = isOfLink ? address + interface : address
        (friendlyName, version, project) = (facts["friendly_name"], facts["version"], facts["project_name"])
        mac = facts["mac"].flatMap(Self.address)
        isEncrypted = facts["api_encryption"] != nil
    }

    /// The texts of an announcement, by key. Of texts with the same key, the first counts.
    private static func facts(_ texts: [[UInt8]]) -> [String: String] {
        var facts: [String: String] = [:]
        for text in texts {
            let parts = text.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[1].isEmpty else { continue }
            let key = String(decoding: parts[0], as: UTF8.self).lowercased()
            if facts[key] == nil { facts[key] = String(decoding: parts[1], as: UTF8.self) }
        }
        return facts
    }

    /// Reads an address of 12 hexadecimal digits.
    private static func address(_ text: String) -> String? {
        guard text.utf8.count == 12, text.allSatisfy(\.isHexDigit), let number = UInt64(text, radix: 16) else {
            return nil
        }
        return DeviceAddress(number)?.description
    }

    /// How well its address can be used: one of IPv4 best, and one that is valid on one link only least.
    var rank: Int { !address.contains(":") ? 0 : Self.isOfLink(address) ? 2 : 1 }

    private static func isOfLink(_ address: String) -> Bool { address.lowercased().hasPrefix("fe80:") }
}
