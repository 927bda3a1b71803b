import BLE
import FoundationEssentials

/// A command for a device, as JSON: `{"read": "180f/2a19"}`, or `{"write": "2a06", "value": "01"}`.
struct DeviceCommand: Sendable {
    enum Action: Sendable {
        case read
        case write([UInt8], WriteType)
    }

    let key: CharacteristicKey
    let action: Action

    static let keys = ["id", "read", "write", "value", "withoutResponse"]
    /// The largest payload that is read, in bytes. A value has at most 512, which are 1,024 digits.
    private static let limit = 4096

    /// Reads a command. Throws `invalidArgument` for anything else.
    init(_ payload: [UInt8]) throws(BLEError) {
        do {
            guard payload.count <= Self.limit else { throw Entry.Mistake(message: "more than \(Self.limit) bytes") }
            let entry = try Entry(text: Data(payload))
            let object = try entry.object(Self.keys)
            switch (object["read"], object["write"]) {
            case (let read?, nil):
                for other in ["value", "withoutResponse"] {
                    if let entry = object[other] { throw entry.mistake("a read has no \(other)") }
                }
                (key, action) = (try GatewayFile.value(read), .read)
            case (nil, let write?):
                let bytes = try object.required("value", in: entry.place).bytes()
                let isFast = try object["withoutResponse"]?.boolean() ?? false
                (key, action) = (try GatewayFile.value(write), .write(bytes, isFast ? .withoutResponse : .withResponse))
            default: throw entry.mistake("a command has read or write")
            }
        } catch {
            throw BLEError(.invalidArgument, "\(error)")
        }
    }

    /// Returns the sender's name for a command, which its result repeats, also that of a wrong command.
    static func id(_ payload: [UInt8]) -> String? {
        guard payload.count <= limit, case .object(let object)? = try? JSONReader.read(Data(payload)),
            case .string(let id)? = object["id"], id.utf8.count <= 200
        else { return nil }
        return id
    }

    /// Performs the command, and returns what the result contains besides `ok` and the id.
    func perform(on peripheral: Peripheral) async throws(BLEError) -> [String: JSON] {
        switch action {
        case .read:
            let value = try await peripheral.readBytes(of: key)
            let fields = DeviceField.fields(of: value, key).map { ($0.id, $0.value.json) }
            return ["value": .hex(value), "fields": .object(Dictionary(fields) { first, _ in first })]
        case .write(let value, let type):
            try await peripheral.writeBytes(value, to: key, type: type)
            return [:]
        }
    }
}
