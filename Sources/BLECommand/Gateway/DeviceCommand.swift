import BLE
import FoundationEssentials

/// A command for a device, as JSON: `{"read": "180f/2a19"}`, `{"write": "2a06", "value": "01"}`, or
/// `{"subscribe": "2a37", "seconds": 60}`.
struct DeviceCommand: Sendable {
    enum Action: Sendable {
        case read
        case write([UInt8], WriteType)
        /// For so long.
        case subscribe(Duration)
    }

    let key: CharacteristicKey
    let action: Action

    static let keys = ["id", "read", "write", "value", "withoutResponse", "subscribe", "seconds"]
    /// The largest payload that is read, in bytes. A value has at most 512, which are 1,024 digits.
    private static let limit = 4096

    /// Reads a command. Throws `invalidArgument` for anything else.
    init(_ payload: [UInt8]) throws(BLEError) {
        do {
            guard payload.count <= Self.limit else { throw Entry.Mistake(message: "more than \(Self.limit) bytes") }
            let entry = try Entry(text: Data(payload))
            let object = try entry.object(Self.keys)
            let kinds = ["read", "write", "subscribe"].filter { object[$0] != nil }
            guard kinds.count == 1, let kind = kinds.first, let characteristic = object[kind] else {
                throw entry.mistake("a command has one of read, write and subscribe")
            }
            let others = ["write": ["value", "withoutResponse"], "subscribe": ["seconds"]]
            for (other, keys) in others where other != kind {
                for key in keys {
                    if let entry = object[key] { throw entry.mistake("a \(kind) has no \(key)") }
                }
            }
            key = try GatewayFile.value(characteristic)
            switch kind {
            case "write":
                let bytes = try object.required("value", in: entry.place).bytes()
                let isFast = try object["withoutResponse"]?.boolean() ?? false
                action = .write(bytes, isFast ? .withoutResponse : .withResponse)
            case "subscribe": action = .subscribe(.seconds(try object["seconds"]?.integer(1...3600) ?? 60))
            default: action = .read
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

    /// Whether the command goes on for some time.
    var isSubscription: Bool { if case .subscribe = action { true } else { false } }

    /// Performs the command, and returns what the result contains besides `ok` and the id.
    ///
    /// - Parameters:
    ///   - entry: the entry of the peripheral, which has the formats of its values. Nil if it is not listed by address.
    ///   - take: called with what each value of a subscription contains.
    func perform(
        on peripheral: Peripheral, _ entry: ListedDevice?, clock: any Clock<Duration>,
        _ take: @escaping @Sendable ([String: JSON]) -> Void
    ) async throws -> [String: JSON] {
        switch action {
        case .read: return content(try await peripheral.readBytes(of: key), entry)
        case .write(let value, let type): try await peripheral.writeBytes(value, to: key, type: type)
        case .subscribe(let duration):
            let values = try await peripheral.notifications(key.bytes)
            try await withThrowingTaskGroup { group in
                group.addTask { for try await value in values { take(content(value, entry)) } }
                group.addTask { try await clock.sleep(for: duration) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
        return [:]
    }

    private func content(_ value: [UInt8], _ entry: ListedDevice?) -> [String: JSON] {
        let fields = entry?.fields(of: value, key) ?? DeviceField.fields(of: value, key)
        let values = fields.map { ($0.id, $0.value.json) }
        return ["value": .hex(value), "fields": .object(Dictionary(values) { first, _ in first })]
    }
}
