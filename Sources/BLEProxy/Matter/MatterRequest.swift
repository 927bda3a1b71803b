internal import BLE
internal import BLEDefinitions
internal import FoundationEssentials

/// What a Matter server asks of its proxy, with a command.
enum MatterRequest: Equatable {
    /// - Parameters:
    ///   - services: the services to look for. Empty for all.
    ///   - duplicates: whether each advertisement is told, not only those that differ.
    case startScan(services: [BluetoothUUID], duplicates: Bool)
    case stopScan
    case connect(Peripheral.ID, timeout: Duration)
    case disconnect(link: Int)
    case perform(MatterOperation, link: Int)
}

/// What is done on a link.
enum MatterOperation: Equatable {
    case discoverServices
    case discoverCharacteristics(BluetoothUUID)
    case read(BluetoothUUID)
    case write(MatterWrite)
    case subscribe(BluetoothUUID)
    /// Writes, and subscribes to another characteristic right after the response.
    case writeAndSubscribe(MatterWrite, BluetoothUUID)
    case unsubscribe(BluetoothUUID)
    case readMTU
    /// Writes the payload of a binary message, with response, to the characteristic that was written last.
    case writePayload([UInt8])
}

struct MatterWrite: Equatable {
    let characteristic: BluetoothUUID
    let value: [UInt8]
    let type: WriteType
}

/// Why a command is not carried out: one of the protocol's codes, and a sentence.
struct MatterRefusal: Error, Equatable {
    enum Code: String {
        case bluetoothUnavailable = "bluetooth_unavailable"
        case alreadyScanning = "already_scanning"
        case notScanning = "not_scanning"
        case deviceNotFound = "device_not_found"
        case connectionFailed = "connection_failed"
        case alreadyConnected = "already_connected"
        case notConnected = "not_connected"
        case timeout
        case serviceNotFound = "service_not_found"
        case characteristicNotFound = "characteristic_not_found"
        case readFailed = "read_failed"
        case writeFailed = "write_failed"
        case subscribeFailed = "subscribe_failed"
        case notSubscribed = "not_subscribed"
        case notifyNotSupported = "notify_not_supported"
        case mtuRequestFailed = "mtu_request_failed"
        case discoveryFailed = "discovery_failed"
        case internalError = "internal_error"
    }

    let code: Code
    let message: String

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// Chooses among the codes of a command.
    ///
    /// - Parameter other: the code for what has none of its own.
    init(_ error: BLEError, otherwise other: Code) {
        let code: Code =
            switch error.code {
            case .disconnected, .connectionCancelled, .cancelled, .shutDown: .notConnected
            case .characteristicNotFound: .characteristicNotFound
            case .serviceNotFound: .serviceNotFound
            default: other
            }
        self.init(code, error.message)
    }

    /// Chooses among the codes of an attempt to connect.
    init(connecting error: BLEError) {
        let code: Code =
            switch error.code {
            case .timedOut: .timeout
            case .peripheralNotFound: .deviceNotFound
            case .bluetoothUnavailable, .bluetoothLost, .adapterNotFound, .poweredOff, .blocked, .shutDown:
                .bluetoothUnavailable
            default: .connectionFailed
            }
        self.init(code, error.message)
    }
}

/// A text message of a Matter server.
enum MatterText {
    /// The answer to the greeting.
    case greeting(version: Int?, error: String?, message: String?)
    /// A command, or why it cannot be one.
    case command(id: Int, Result<MatterRequest, MatterRefusal>)
    /// An object of another kind.
    case other

    /// Reads a message. Nil if it is not a JSON object.
    init?(_ text: [UInt8]) {
        guard case .object(let object)? = try? JSONReader.read(Data(text)) else { return nil }
        if object["type"] == "hello_response" {
            self = .greeting(
                version: object["version"]?.int, error: object["error"]?.string, message: object["message"]?.string)
        } else if let id = object["id"]?.int, let name = object["command"]?.string {
            do throws(MatterRefusal) {
                self = .command(id: id, .success(try MatterRequest(name, try MatterArguments(object["args"]))))
            } catch {
                self = .command(id: id, .failure(error))
            }
        } else {
            self = .other
        }
    }
}

extension MatterRequest {
    /// How long an attempt to connect lasts if the server does not say.
    private static let usualTimeout = Duration.seconds(30)

    fileprivate init(_ name: String, _ arguments: MatterArguments) throws(MatterRefusal) {
        func perform(_ operation: MatterOperation) throws(MatterRefusal) -> MatterRequest {
            .perform(operation, link: try arguments.int("connection_handle"))
        }
        switch name {
        case "start_scan":
            self = .startScan(
                services: try arguments.uuids("service_uuids"),
                duplicates: try arguments.bool("allow_duplicates", default: true))
        case "stop_scan": self = .stopScan
        case "connect":
            let id = Peripheral.ID(rawValue: try arguments.string("address"))
            guard id.isAddress else { throw MatterRefusal(.deviceNotFound, "the address is not a device address") }
            let limit = MatterSession.connectLimit
            self = .connect(id, timeout: try arguments.milliseconds("timeout", Self.usualTimeout, limit))
        case "disconnect": self = .disconnect(link: try arguments.int("connection_handle"))
        case "discover_services": self = try perform(.discoverServices)
        case "discover_characteristics":
            self = try perform(.discoverCharacteristics(try arguments.uuid("service_uuid")))
        case "read_characteristic": self = try perform(.read(try arguments.uuid("characteristic_uuid")))
        case "write_characteristic":
            self = try perform(.write(try arguments.write("characteristic_uuid", "value", "response")))
        case "subscribe_characteristic": self = try perform(.subscribe(try arguments.uuid("characteristic_uuid")))
        case "write_and_subscribe":
            self = try perform(
                .writeAndSubscribe(
                    try arguments.write("write_uuid", "write_value", "write_response"),
                    try arguments.uuid("subscribe_uuid")))
        case "unsubscribe_characteristic":
            self = try perform(.unsubscribe(try arguments.uuid("characteristic_uuid")))
        case "request_mtu": self = try perform(.readMTU)
        default: throw MatterRefusal(.internalError, "the command is unknown")
        }
    }
}

/// The arguments of a command. Those of the wrong type are refused, and unknown ones ignored.
private struct MatterArguments {
    private let values: [String: JSON]

    /// The maximum length of an attribute, in bytes (Core Specification 5.4, volume 3, part F, section 3.2.9).
    private static let longestValue = 512
    /// The maximum number of services of a scan.
    private static let maximumServices = 64

    init(_ value: JSON?) throws(MatterRefusal) {
        switch value {
        case .object(let values)?: self.values = values
        case nil, .null?: values = [:]
        default: throw MatterRefusal(.internalError, "“args” is not an object")
        }
    }

    private func wrong(_ name: String, _ kind: String) -> MatterRefusal {
        MatterRefusal(.internalError, "“\(name)” is not \(kind)")
    }

    func int(_ name: String) throws(MatterRefusal) -> Int {
        guard let value = values[name]?.int else { throw wrong(name, "an integer") }
        return value
    }

    func string(_ name: String) throws(MatterRefusal) -> String {
        guard let value = values[name]?.string else { throw wrong(name, "a string") }
        return value
    }

    func bool(_ name: String, default usual: Bool) throws(MatterRefusal) -> Bool {
        switch values[name] {
        case .bool(let value)?: return value
        case nil, .null?: return usual
        default: throw wrong(name, "true or false")
        }
    }

    func milliseconds(_ name: String, _ usual: Duration, _ longest: Duration) throws(MatterRefusal) -> Duration {
        switch values[name] {
        case .int(let value)? where value > 0: return min(.milliseconds(min(value, 1 << 40)), longest)
        case .double(let value)? where value > 0: return min(.milliseconds(min(value, 1e12)), longest)
        case nil, .null?: return usual
        default: throw wrong(name, "a number of milliseconds")
        }
    }

    func uuid(_ name: String) throws(MatterRefusal) -> BluetoothUUID {
        guard let uuid = BluetoothUUID(try string(name)) else { throw wrong(name, "a UUID") }
        return uuid
    }

    func uuids(_ name: String) throws(MatterRefusal) -> [BluetoothUUID] {
        switch values[name] {
        case nil, .null?: return []
        case .array(let values)? where values.count <= Self.maximumServices:
            let uuids = values.compactMap { $0.string.flatMap { BluetoothUUID($0) } }
            guard uuids.count == values.count else { throw wrong(name, "a list of UUIDs") }
            return uuids
        default: throw wrong(name, "a list of UUIDs")
        }
    }

    func write(_ name: String, _ value: String, _ response: String) throws(MatterRefusal) -> MatterWrite {
        guard let data = Data(base64Encoded: try string(value)) else { throw wrong(value, "Base64") }
        guard data.count <= Self.longestValue else { throw MatterRefusal(.writeFailed, "the value is too long") }
        let type: WriteType = try bool(response, default: false) ? .withResponse : .withoutResponse
        return MatterWrite(characteristic: try uuid(name), value: Array(data), type: type)
    }
}

extension JSON {
    fileprivate var int: Int? { if case .int(let value) = self { value } else { nil } }
    fileprivate var string: String? { if case .string(let value) = self { value } else { nil } }
}
