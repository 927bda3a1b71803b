internal import BLE
internal import BLEDefinitions
internal import FoundationEssentials

/// A message of a proxy to a Matter server.
enum MatterFrame: Equatable, Sendable {
    case text(JSON)
    case binary([UInt8])

    /// The version of the protocol.
    static let version = 1

    /// The opcodes of binary messages, which the number of the link follows as two bytes, the higher one first.
    static let (writeOpcode, notificationOpcode): (UInt8, UInt8) = (1, 2)
    /// The length of what precedes the payload, in bytes.
    static let headerLength = 3

    static let greeting = MatterFrame.text(.object(["type": "hello", "version": .int(version)]))

    static func success(_ id: Int, _ result: [String: JSON] = [:]) -> MatterFrame {
        .text(.object(["id": .int(id), "success": true, "result": .object(result)]))
    }

    static func failure(_ id: Int, _ refusal: MatterRefusal) -> MatterFrame {
        .text(
            .object([
                "id": .int(id), "success": false, "error": .string(refusal.code.rawValue),
                "message": .string(refusal.message),
            ]))
    }

    static func notification(_ link: UInt16, _ value: [UInt8]) -> MatterFrame {
        .binary([notificationOpcode, UInt8(link >> 8), UInt8(link & 0xFF)] + value)
    }

    static func disconnected(_ link: UInt16, _ reason: String) -> MatterFrame {
        event("disconnected", ["connection_handle": .int(Int(link)), "reason": .string(reason)])
    }

    static func scanStopped(_ reason: String) -> MatterFrame { event("scan_stopped", ["reason": .string(reason)]) }

    static func discovered(_ id: Peripheral.ID, _ advertisement: Advertisement) -> MatterFrame {
        var data: [String: JSON] = [
            "address": .string(id.rawValue),
            // bluetoothd does not report it.
            "connectable": .bool(advertisement.isConnectable ?? true),
            "service_data": .object(
                advertisement.serviceData.reduce(into: [:]) { $0["\($1.key)"] = base64($1.value) }),
            "manufacturer_data": .object(
                advertisement.manufacturerData.reduce(into: [:]) { $0["\($1.key)"] = base64($1.value) }),
            "service_uuids": .array(advertisement.serviceUUIDs.sorted().map { .string("\($0)") }),
        ]
        if let name = advertisement.localName { data["name"] = .string(name) }
        if let rssi = advertisement.rssi { data["rssi"] = .int(rssi) }
        return event("device_discovered", data)
    }

    static func base64(_ bytes: [UInt8]) -> JSON { .string(Data(bytes).base64EncodedString()) }

    private static func event(_ name: String, _ data: [String: JSON]) -> MatterFrame {
        .text(.object(["event": .string(name), "data": .object(data)]))
    }
}
