import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions

/// A characteristic or one of its descriptors on the command line: a UUID or a name, with its number among those of its
/// type; or a handle. A descriptor follows a slash.
struct CharacteristicArgument: Sendable {
    private enum Target {
        /// A type, and the position among the peripheral's characteristics of that type, from 1. Nil for the first.
        case type(BluetoothUUID, number: Int?)
        /// The handle of a characteristic's declaration or value, or of a descriptor.
        case handle(UInt16)
    }

    private let target: Target
    /// The type of the descriptor. Nil for a characteristic.
    let descriptor: BluetoothUUID?

    /// The type. Nil for a handle.
    var uuid: BluetoothUUID? {
        if case .type(let uuid, _) = target { uuid } else { nil }
    }

    /// The position among the characteristics of that type, from 1. Nil for the first.
    var number: Int? {
        if case .type(_, let number) = target { number } else { nil }
    }

    init(named text: String) throws {
        let halves = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        descriptor = try halves.count == 2 ? Self.descriptor(halves[1]) : nil
        if let handle = Self.handle(halves[0]) {
            guard descriptor == nil else {
                throw ValidationError("The handle of a descriptor suffices: remove \"/\(halves[1])\".")
            }
            target = .handle(handle)
            return
        }
        let parts = halves[0].split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        guard let uuid = Catalog.shown.characteristic(String(parts[0])) else {
            throw notNamed(halves[0], "characteristic", .characteristic)
        }
        let number = parts.count == 2 ? Int(parts[1]) : nil
        guard parts.count == 1 || number.map({ $0 > 0 }) == true else {
            throw ValidationError("The number after # counts the characteristics of that type from 1, as in 2a19#2.")
        }
        target = .type(uuid, number: number)
    }

    /// Creates an argument for a characteristic, not for a descriptor.
    static func characteristic(named text: String) throws -> CharacteristicArgument {
        let argument = try CharacteristicArgument(named: text)
        guard argument.descriptor == nil else { throw ValidationError("A descriptor does not notify.") }
        return argument
    }

    /// Returns a handle: `@` and its digits, or `0x` and four digits below 1800, where no characteristic has its type.
    private static func handle(_ text: String) -> UInt16? {
        if text.hasPrefix("@") {
            let digits = text.dropFirst().lowercased()
            return UInt16(digits.hasPrefix("0x") ? digits.dropFirst(2) : digits[...], radix: 16).flatMap {
                $0 > 0 ? $0 : nil
            }
        }
        guard text.lowercased().hasPrefix("0x"), text.count <= 6, let number = UInt16(text.dropFirst(2), radix: 16),
            1..<0x1800 ~= number
        else { return nil }
        return number
    }

    private static func descriptor(_ text: String) throws -> BluetoothUUID {
        if let uuid = BluetoothUUID(text) { return uuid }
        guard let uuid = Catalog.shown.named(text, [.descriptor]).first?.uuid else {
            throw notNamed(text, "descriptor", .descriptor)
        }
        return uuid
    }

    static let help: ArgumentHelp =
        """
        The characteristic: a UUID of 16, 32 or 128 bits, or a name such as battery-level; 2a19#2 is the second 2a19. \
        Or a handle as inspect shows it, such as 0x000e or @000e.
        """

    static let helpWithDescriptor: ArgumentHelp =
        """
        The characteristic: a UUID of 16, 32 or 128 bits, or a name such as battery-level; 2a19#2 is the second 2a19, \
        and 2a19/2901 its descriptor 2901. Or a handle of either as inspect shows it, such as 0x000e or @000e.
        """
}

// MARK: On a peripheral

extension CharacteristicArgument {
    /// An attribute of a peripheral: a characteristic's value, or a descriptor.
    struct Attribute: Sendable {
        let key: CharacteristicKey
        /// The descriptor's type and handle. Nil for a characteristic. Without a handle, the first descriptor of the
        /// type is used.
        var descriptor: (uuid: BluetoothUUID, handle: UInt16?)?

        /// The keys that identify the attribute in JSON.
        var json: [String: JSON] {
            [
                "uuid": .string(key.characteristic.description),
                "descriptor": .optional(descriptor?.uuid.description),
            ]
        }

        func read(of peripheral: Peripheral) async throws(BLEError) -> [UInt8] {
            guard let descriptor else { return try await peripheral.read(key.bytes) }
            return try await peripheral.readDescriptor(descriptor.uuid, handle: descriptor.handle, of: key)
        }

        func write(_ value: [UInt8], to peripheral: Peripheral, type: WriteType) async throws(BLEError) {
            guard let descriptor else { return try await peripheral.write(value, to: key.bytes, type: type) }
            try await peripheral.writeDescriptor(value, to: descriptor.uuid, handle: descriptor.handle, of: key)
        }

        func format(on peripheral: Peripheral) async -> (any AttributeFormat)? {
            guard let descriptor else { return await ShownValue.format(of: key, on: peripheral) }
            // The Characteristic User Description is text, but the SIG does not list a format for it.
            if descriptor.uuid == BluetoothUUID(0x2901) { return ValueFormat(PresentationFormat(format: .utf8)) }
            return ValueFormat(of: descriptor.uuid)
        }

        /// Returns what text means in the format of the characteristic. Throws `invalidArgument`.
        func parse<Value>(
            _ text: String, _ format: (any AttributeFormat)?,
            _ parse: (any AttributeFormat, String) throws(BLEError) -> Value
        ) throws(BLEError) -> Value {
            guard descriptor == nil, let format else {
                let reason =
                    descriptor == nil ? "the format of \(key.characteristic) is not known" : "a descriptor is bytes"
                throw BLEError(
                    .invalidArgument, "“\(text.excerpt)” cannot be encoded: \(reason)", isRetryable: false,
                    remedy: "Give the value in hexadecimal, with --text, or with one of --uint8 to --sint32.")
            }
            do throws(BLEError) {
                return try parse(format, text)
            } catch {
                throw BLEError(.invalidArgument, error.message, isRetryable: false)
            }
        }
    }

    /// Whether the services must be discovered to find the attribute.
    var needsServices: Bool {
        if case .type(_, number: nil) = target { false } else { true }
    }

    /// The name of the attribute for messages.
    var title: String {
        let descriptor = descriptor.map { "/\($0)" } ?? ""
        return switch target {
        case .type(let uuid, let number): "\(uuid)" + (number.map { "#\($0)" } ?? "") + descriptor
        case .handle(let handle): "the attribute \(Self.digits(handle))"
        }
    }

    /// Returns the attribute. Discovers the services if the argument has a number or a handle.
    func attribute(on peripheral: Peripheral) async throws(BLEError) -> Attribute {
        let descriptor = descriptor.map { (uuid: $0, handle: UInt16?.none) }
        switch target {
        case .type(let uuid, number: nil):
            return Attribute(key: CharacteristicKey(characteristic: uuid), descriptor: descriptor)
        case .type(let uuid, let number?):
            let all = try await peripheral.services().flatMap { $0[all: uuid] }
            guard all.indices.contains(number - 1) else {
                throw BLEError(
                    .characteristicNotFound,
                    all.isEmpty
                        ? "the peripheral has no characteristic \(uuid)"
                        : "the peripheral has only \(all.count) characteristics of type \(uuid)",
                    peripheral: peripheral.id, characteristic: uuid, missingUUIDs: [uuid], isRetryable: false)
            }
            return Attribute(key: all[number - 1].key, descriptor: descriptor)
        case .handle(let handle):
            guard let found = Self.attribute(handle, in: try await peripheral.services()) else {
                throw BLEError(
                    .characteristicNotFound,
                    "the peripheral has no characteristic or descriptor with the handle \(Self.digits(handle))",
                    peripheral: peripheral.id, isRetryable: false, remedy: "ble inspect shows the handles.")
            }
            return found
        }
    }

    /// Returns the key of the characteristic. Throws `notSupported` for a descriptor.
    func key(on peripheral: Peripheral) async throws(BLEError) -> CharacteristicKey {
        let attribute = try await attribute(on: peripheral)
        guard attribute.descriptor == nil else { throw BLEError(.notSupported, "a descriptor does not notify") }
        return attribute.key
    }

    private static func attribute(_ handle: UInt16, in database: GATTDatabase) -> Attribute? {
        for characteristic in database.joined() {
            if let descriptor = characteristic.descriptors.first(where: { $0.handle == handle }) {
                return Attribute(key: characteristic.key, descriptor: (descriptor.uuid, descriptor.handle))
            }
            // The value follows its declaration: Core Specification 5.4, volume 3, part G, section 3.3.2.
            if characteristic.handle == handle || characteristic.handle &+ 1 == handle {
                return Attribute(key: characteristic.key)
            }
        }
        return nil
    }

    private static func digits(_ handle: UInt16) -> String {
        "0x" + Hex.string([UInt8(handle >> 8), UInt8(handle & 0xFF)])
    }
}
