public import BLE

/// Looks up the numbers that the Bluetooth SIG has assigned.
///
/// Contains all services, characteristics, descriptors, declarations, units, companies, appearances, types of
/// advertising data, and other UUIDs of 16 bits that the SIG publishes. `Docs/AssignedNumbers.md` states the edition
/// and the cost of look-ups; nothing is kept in memory.
///
/// Searches for text consider only letters and digits, and ignore case: `heart-rate` matches `Heart Rate`.
public enum AssignedNumbers {
    /// Returns the meaning of a UUID. Nil if the SIG has not assigned it.
    public static func assignment(of uuid: BluetoothUUID) -> AssignedNumber? {
        uuid.short.flatMap { numbered($0, uuidKinds).first }
    }

    /// Returns the name of a company, such as `Apple, Inc.` for 0x004C.
    public static func company(_ identifier: UInt16) -> String? { NumberTable.companies.name(identifier) }

    /// Returns the name of a unit, such as `Celsius temperature (degree Celsius)`.
    public static func unit(_ uuid: BluetoothUUID) -> String? { uuid.short.flatMap(NumberTable.units.name) }

    /// Returns the name of a type of advertising data, such as `Complete Local Name`.
    public static func advertisingDataType(_ type: UInt8) -> String? {
        NumberTable.advertisingDataTypes.name(UInt16(type))
    }

    /// Returns all numbers of a kind, in ascending order.
    public static func all(_ kind: AssignedNumber.Kind) -> [AssignedNumber] {
        entries(kind) { _ in true }
    }

    /// Returns the assignments of a number, at most one of each of the given kinds.
    public static func numbered(
        _ number: UInt16, _ kinds: [AssignedNumber.Kind] = AssignedNumber.Kind.allCases
    ) -> [AssignedNumber] {
        kinds.compactMap { kind in kind.table.name(number).map { entry(kind, number, $0) } }
    }

    /// Returns the numbers with the given name, of all kinds or of some. An appearance has the name of its subcategory
    /// if it has one.
    ///
    /// The names of companies and of member services may not be unique.
    public static func named(
        _ name: String, _ kinds: [AssignedNumber.Kind] = AssignedNumber.Kind.allCases
    ) -> [AssignedNumber] {
        let pattern = NamePattern(name)
        return kinds.flatMap { entries($0, where: pattern.isName(_:)) }
    }

    /// Returns the numbers whose name contains all of the given parts, each at the beginning of a word. Empty if no
    /// parts are given. For appearances, both the category and the subcategory are searched.
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

    /// Returns the service with the given name or UUID text. Nil if it is neither a UUID nor a name.
    public static func service(_ text: String) -> BluetoothUUID? { Catalog().service(text) }

    /// Returns the characteristic with the given name or UUID text. Nil if it is neither a UUID nor a name.
    public static func characteristic(_ text: String) -> BluetoothUUID? { Catalog().characteristic(text) }

    private static let uuidKinds = AssignedNumber.Kind.allCases.filter(\.isUUID)

    private static func entries(
        _ kind: AssignedNumber.Kind, where isWanted: (UnsafeBufferPointer<UInt8>) -> Bool
    ) -> [AssignedNumber] {
        kind.table.entries(where: isWanted).map { entry(kind, $0.number, $0.name) }
    }

    /// Returns an entry of the table, with its full name.
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
