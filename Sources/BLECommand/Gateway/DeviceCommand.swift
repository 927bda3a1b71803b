import BLE
import BLEDefinitions
import FoundationEssentials

/// A command for a device, as JSON: `{"read": "180f/2a19"}`, `{"write": "2a06", "value": "01"}`,
/// `{"subscribe": "2a37", "seconds": 60}`, or `{"message": "unlock", "payload": "01", "encrypted": true}`.
struct DeviceCommand: Sendable {
    enum Action: Sendable {
        case read(CharacteristicKey)
        case write([UInt8], CharacteristicKey, WriteType)
        /// For so long.
        case subscribe(CharacteristicKey, Duration)
        /// A request of the device's own protocol, by its name in the list or its number.
        case message(String, payload: [UInt8], isEncrypted: Bool?)
    }

    let action: Action

    /// The kinds of commands, with their further keys.
    private static let kinds = [
        "read": [], "write": ["value", "withoutResponse"], "subscribe": ["seconds"],
        "message": ["payload", "encrypted"],
    ]
    private static let keys = ["id"] + kinds.keys.sorted() + kinds.keys.sorted().flatMap { kinds[$0] ?? [] }
    /// The largest payload that is read, in bytes. A value has at most 512, which are 1,024 digits.
    private static let limit = 4096

    /// Reads a command. Throws `invalidArgument` for anything else.
    init(_ payload: [UInt8]) throws(BLEError) {
        do {
            guard payload.count <= Self.limit else { throw DefinitionError(message: "more than \(Self.limit) bytes") }
            let entry = try Entry(text: Data(payload))
            let object = try entry.object(Self.keys)
            let kinds = Self.kinds.keys.filter { object[$0] != nil }
            guard kinds.count == 1, let kind = kinds.first, let what = object[kind] else {
                throw entry.mistake("a command has one of read, write, subscribe and message")
            }
            for key in object.keys.sorted() where ![kind, "id"].contains(key) {
                guard Self.kinds[kind]?.contains(key) == true else {
                    throw (object[key] ?? entry).mistake("a \(kind) has no \(key)")
                }
            }
            switch kind {
            case "write":
                let bytes = try object.required("value", in: entry.place).bytes()
                let isFast = try object["withoutResponse"]?.boolean() ?? false
                action = .write(bytes, try GatewayFile.value(what), isFast ? .withoutResponse : .withResponse)
            case "subscribe":
                let seconds = try object["seconds"]?.integer(1...3600) ?? 60
                action = .subscribe(try GatewayFile.value(what), .seconds(seconds))
            case "message":
                action = .message(
                    try what.string(), payload: try object["payload"]?.bytes() ?? [],
                    isEncrypted: try object["encrypted"]?.boolean())
            default: action = .read(try GatewayFile.value(what))
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
        case .read(let key): return content(try await peripheral.readBytes(of: key), of: key, entry)
        case .write(let value, let key, let type): try await peripheral.writeBytes(value, to: key, type: type)
        case .message(let name, let payload, let isEncrypted):
            return try await send(name, payload, isEncrypted, to: peripheral, entry)
        case .subscribe(let key, let duration):
            let values = try await peripheral.notifications(key.bytes)
            try await withThrowingTaskGroup { group in
                group.addTask { for try await value in values { take(content(value, of: key, entry)) } }
                group.addTask { try await clock.sleep(for: duration) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
        return [:]
    }

    private func send(
        _ name: String, _ payload: [UInt8], _ isEncrypted: Bool?, to peripheral: Peripheral, _ entry: ListedDevice?
    ) async throws(BLEError) -> [String: JSON] {
        #if DeviceCommands
            guard let messages = entry?.messages else {
                throw BLEError(.invalidArgument, "the list has no messages of this device", isRetryable: false)
            }
            return try await messages.send(name, payload, isEncrypted: isEncrypted, to: peripheral)
        #else
            throw BLEError(
                .notSupported, "this program is built without the trait DeviceCommands", isRetryable: false)
        #endif
    }

    private func content(_ value: [UInt8], of key: CharacteristicKey, _ entry: ListedDevice?) -> [String: JSON] {
        let fields = entry?.fields(of: value, key) ?? SensorReading.fields(of: value, key)
        let values = fields.map { ($0.id, $0.value.json) }
        return ["value": .hex(value), "fields": .object(Dictionary(values) { first, _ in first })]
    }
}
