public import BLE

/// A number, or a UUID, that somebody has given a meaning, and its name.
public struct AssignedNumber: Hashable, Sendable {
    /// What is numbered. Those that are numbered by UUIDs share one range of numbers, each of the others has its own.
    public enum Kind: String, CaseIterable, Sendable {
        /// A service.
        case service
        /// A characteristic.
        case characteristic
        /// A descriptor.
        case descriptor
        /// A declaration, the attribute that begins a service, for instance.
        case declaration
        /// A unit of measurement, as ``BLE/PresentationFormat`` names it.
        case unit
        /// What an object of the Object Transfer service is.
        case objectType = "object-type"
        /// A UUID that a member of the SIG has for a service of its own, named after the member.
        case memberService = "member-service"
        /// A UUID that another standards organization has for a service.
        case organizationService = "organization-service"
        /// A service class or profile of BR/EDR.
        case serviceClass = "service-class"
        /// A protocol.
        case `protocol`
        /// A profile of Bluetooth Mesh.
        case meshProfile = "mesh-profile"
        /// A group of services to be browsed, of BR/EDR.
        case browseGroup = "browse-group"
        /// A company, whose number precedes manufacturer data.
        case company
        /// What a device looks like: a category, or with a subcategory, joined by a colon.
        case appearance
        /// A type of advertising data, 8 bits.
        case advertisingDataType = "advertising-data-type"

        /// Whether the numbers are UUIDs.
        public var isUUID: Bool {
            switch self {
            case .company, .appearance, .advertisingDataType: false
            default: true
            }
        }
    }

    /// What is numbered.
    public let kind: Kind
    /// The name, as the SIG or whoever declared it spells it.
    public let name: String
    /// Any kind's number, in the form of a UUID.
    private let form: BluetoothUUID

    private init(_ kind: Kind, _ uuid: BluetoothUUID, _ name: String) {
        (self.kind, form, self.name) = (kind, uuid, name)
    }

    init(_ kind: Kind, _ number: UInt16, _ name: String) {
        self.init(kind, BluetoothUUID(UInt32(number)), name)
    }

    /// The UUID; nil for a kind that is numbered otherwise.
    public var uuid: BluetoothUUID? { kind.isUUID ? form : nil }

    /// The number; nil for a UUID of more than 16 bits.
    public var number: UInt16? { form.short }
}

extension AssignedNumber {
    /// A service.
    public static func service(_ uuid: BluetoothUUID, _ name: String) -> AssignedNumber {
        AssignedNumber(.service, uuid, name)
    }

    /// A characteristic.
    public static func characteristic(_ uuid: BluetoothUUID, _ name: String) -> AssignedNumber {
        AssignedNumber(.characteristic, uuid, name)
    }

    /// The characteristic that a key is for.
    public static func characteristic<Value>(_ key: Characteristic<Value>, _ name: String) -> AssignedNumber {
        AssignedNumber(.characteristic, key.uuid, name)
    }

    /// A descriptor.
    public static func descriptor(_ uuid: BluetoothUUID, _ name: String) -> AssignedNumber {
        AssignedNumber(.descriptor, uuid, name)
    }

    /// A company.
    public static func company(_ identifier: UInt16, _ name: String) -> AssignedNumber {
        AssignedNumber(.company, identifier, name)
    }
}

extension AssignedNumber: CustomStringConvertible {
    /// The kind, the number and the name: `company 0x004c Apple, Inc.`, `service 180d Heart Rate`.
    public var description: String { "\(kind.rawValue) \(numberText) \(name)" }

    /// The number in lowercase hexadecimal: a UUID in its shortest form, others with `0x` and four digits, two where there
    /// are 8 bits.
    public var numberText: String {
        guard !kind.isUUID else { return form.description }
        return "0x" + form.description.dropFirst(kind == .advertisingDataType ? 2 : 0)
    }
}
