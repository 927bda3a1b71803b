public import BLE

/// A number or UUID with an assigned meaning, and its name.
public struct AssignedNumber: Hashable, Sendable {
    /// The kind of an assigned number. All kinds with UUIDs share one range of numbers; each other kind has its own
    /// range.
    public enum Kind: String, CaseIterable, Sendable {
        /// A service.
        case service
        /// A characteristic.
        case characteristic
        /// A descriptor.
        case descriptor
        /// A declaration, such as the attribute that begins a service.
        case declaration
        /// A unit of measurement, as used by `PresentationFormat`.
        case unit
        /// A type of object of the Object Transfer service.
        case objectType = "object-type"
        /// A UUID that a member of the SIG uses for its own service, named after the member.
        case memberService = "member-service"
        /// A UUID that another standards organization uses for a service.
        case organizationService = "organization-service"
        /// A service class or profile of BR/EDR.
        case serviceClass = "service-class"
        /// A protocol.
        case `protocol`
        /// A profile of Bluetooth Mesh.
        case meshProfile = "mesh-profile"
        /// A group of BR/EDR services for browsing.
        case browseGroup = "browse-group"
        /// A company, whose number is at the beginning of manufacturer data.
        case company
        /// An external appearance: a category, or a category and a subcategory, separated by a colon.
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

    /// The kind.
    public let kind: Kind
    /// The name, as spelled by the SIG or in a ``Catalog``.
    public let name: String
    /// The number as a UUID, even if the kind does not have UUIDs.
    private let form: BluetoothUUID

    private init(_ kind: Kind, _ uuid: BluetoothUUID, _ name: String) {
        (self.kind, form, self.name) = (kind, uuid, name)
    }

    init(_ kind: Kind, _ number: UInt16, _ name: String) {
        self.init(kind, BluetoothUUID(UInt32(number)), name)
    }

    /// The UUID. Nil for a kind that does not have UUIDs.
    public var uuid: BluetoothUUID? { kind.isUUID ? form : nil }

    /// The number. Nil for a UUID of more than 16 bits.
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

    /// A characteristic, from its key.
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
    /// The kind, number and name: `company 0x004c Apple, Inc.`, `service 180d Heart Rate`.
    public var description: String { "\(kind.rawValue) \(numberText) \(name)" }

    /// The number in lowercase hexadecimal. A UUID has its shortest form. Other numbers have `0x` and four digits, or
    /// two digits for numbers of 8 bits.
    public var numberText: String {
        guard !kind.isUUID else { return form.description }
        return "0x" + form.description.dropFirst(kind == .advertisingDataType ? 2 : 0)
    }
}
