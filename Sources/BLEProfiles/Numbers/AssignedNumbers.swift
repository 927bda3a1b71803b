public import BLE

/// The numbers that the Bluetooth SIG has assigned.
///
/// All that it publishes of services, characteristics, descriptors, declarations, units, companies, appearances, types of
/// advertising data and whatever else has a UUID of 16 bits. `Docs/AssignedNumbers.md` says which edition, and what look-ups
/// cost; nothing is kept in memory.
///
/// Where text is looked for, only its letters and digits count, in either case: `heart-rate` is `Heart Rate`.
public enum AssignedNumbers {
    /// What a UUID stands for; nil where the SIG has not assigned it.
    public static func assignment(of uuid: BluetoothUUID) -> AssignedNumber? {
        uuid.short.flatMap { numbered($0, uuidKinds).first }
    }

    /// The name of a company, such as `Apple, Inc.` for 0x004C.
    public static func company(_ identifier: UInt16) -> String? { NumberTable.companies.name(identifier) }

    /// The name of a unit, such as `Celsius temperature (degree Celsius)`.
    public static func unit(_ uuid: BluetoothUUID) -> String? { uuid.short.flatMap(NumberTable.units.name) }

    /// The name of a type of advertising data, such as `Complete Local Name`.
    public static func advertisingDataType(_ type: UInt8) -> String? {
        NumberTable.advertisingDataTypes.name(UInt16(type))
    }

    /// Everything of a kind, in ascending order.
    public static func all(_ kind: AssignedNumber.Kind) -> [AssignedNumber] {
        entries(kind) { _ in true }
    }

    /// Whatever has that number, of all kinds or of some: at most one of each.
    public static func numbered(
        _ number: UInt16, _ kinds: [AssignedNumber.Kind] = AssignedNumber.Kind.allCases
    ) -> [AssignedNumber] {
        kinds.compactMap { kind in kind.table.name(number).map { entry(kind, number, $0) } }
    }

    /// Whatever has exactly that name, of all kinds or of some. An appearance has the name of its subcategory, if it has one.
    ///
    /// Names of companies and of their services need not be unique.
    public static func named(
        _ name: String, _ kinds: [AssignedNumber.Kind] = AssignedNumber.Kind.allCases
    ) -> [AssignedNumber] {
        let pattern = NamePattern(name)
        return kinds.flatMap { entries($0, where: pattern.isName(_:)) }
    }

    /// Whatever has all of these in its name, each at the beginning of a word; nothing where none is given. An appearance is
    /// looked for by the names of both its category and its subcategory.
    public static func containing(
        _ parts: [String], _ kinds: [AssignedNumber.Kind] = AssignedNumber.Kind.allCases
    ) -> [AssignedNumber] {
        let patterns = parts.map(NamePattern.init)
        guard !patterns.isEmpty else { return [] }
        return kinds.flatMap { kind in
            kind == .appearance
                ? all(kind).filter { entry in patterns.allSatisfy { $0.isPart(of: entry.name) } }
                : entries(kind) { name in patterns.allSatisfy { $0.isPart(of: name) } }
        }
    }

    /// The service of that name or UUID text; nil when it is neither.
    public static func service(_ text: String) -> BluetoothUUID? { Catalog().service(text) }

    /// The characteristic of that name or UUID text; nil when it is neither.
    public static func characteristic(_ text: String) -> BluetoothUUID? { Catalog().characteristic(text) }

    private static let uuidKinds = AssignedNumber.Kind.allCases.filter(\.isUUID)

    private static func entries(
        _ kind: AssignedNumber.Kind, where isWanted: (UnsafeBufferPointer<UInt8>) -> Bool
    ) -> [AssignedNumber] {
        kind.table.entries(where: isWanted).map { entry(kind, $0.number, $0.name) }
    }

    /// An entry of the table, with its whole name.
    private static func entry(_ kind: AssignedNumber.Kind, _ number: UInt16, _ name: String) -> AssignedNumber {
        AssignedNumber(kind, number, kind == .appearance ? Appearance(rawValue: number).name ?? name : name)
    }
}

extension AssignedNumber.Kind {
    fileprivate var table: NumberTable {
        switch self {
        case .service: .services
        case .characteristic: .characteristics
        case .descriptor: .descriptors
        case .declaration: .declarations
        case .unit: .units
        case .objectType: .objectTypes
        case .memberService: .memberServices
        case .organizationService: .organizationServices
        case .serviceClass: .serviceClasses
        case .protocol: .protocols
        case .meshProfile: .meshProfiles
        case .browseGroup: .browseGroups
        case .company: .companies
        case .appearance: .appearances
        case .advertisingDataType: .advertisingDataTypes
        }
    }
}
