public import BLE

/// Numbers of one's own beside those that the SIG has assigned: the services and characteristics of a product.
///
/// ```swift
/// let robot: Catalog = [
///     .service(.monitoring, "Monitoring"), .characteristic(.charging, "Charging"),
///     .service(BluetoothUUID(0x8270), "File Exchange"),
/// ]
/// print(uuid.name(in: robot) ?? "unknown")
/// ```
///
/// Where both have a number or a name, one's own comes first. It is looked through from the beginning, being meant for tens of
/// entries.
public struct Catalog: Sendable {
    /// The entries of one's own.
    public let entries: [AssignedNumber]

    /// A catalog with these entries, or of the SIG's numbers alone.
    public init(_ entries: [AssignedNumber] = []) {
        self.entries = entries
    }

    /// What a UUID stands for; nil where nobody has assigned it.
    public func assignment(of uuid: BluetoothUUID) -> AssignedNumber? {
        entries.first { $0.uuid == uuid } ?? AssignedNumbers.assignment(of: uuid)
    }

    /// The name of a company.
    public func company(_ identifier: UInt16) -> String? {
        entries.first { $0.kind == .company && $0.number == identifier }?.name ?? AssignedNumbers.company(identifier)
    }

    /// Whatever has exactly that name, as ``AssignedNumbers/named(_:_:)`` compares them.
    public func named(
        _ name: String, _ kinds: [AssignedNumber.Kind] = AssignedNumber.Kind.allCases
    ) -> [AssignedNumber] {
        let pattern = NamePattern(name)
        return entries.filter { kinds.contains($0.kind) && pattern.isName($0.name) }
            + AssignedNumbers.named(name, kinds)
    }

    /// Whatever has all of these in its name, as ``AssignedNumbers/containing(_:_:)`` compares them.
    public func containing(
        _ parts: [String], _ kinds: [AssignedNumber.Kind] = AssignedNumber.Kind.allCases
    ) -> [AssignedNumber] {
        let patterns = parts.map(NamePattern.init)
        let own = entries.filter { entry in
            !patterns.isEmpty && kinds.contains(entry.kind) && patterns.allSatisfy { $0.isPart(of: entry.name) }
        }
        return own + AssignedNumbers.containing(parts, kinds)
    }

    /// The service of that UUID text or name; nil when it is neither.
    public func service(_ text: String) -> BluetoothUUID? {
        BluetoothUUID(text) ?? named(text, [.service]).first?.uuid
    }

    /// The characteristic of that UUID text or name; nil when it is neither.
    public func characteristic(_ text: String) -> BluetoothUUID? {
        BluetoothUUID(text) ?? named(text, [.characteristic]).first?.uuid
    }
}

extension Catalog: ExpressibleByArrayLiteral {
    /// A catalog with these entries.
    public init(arrayLiteral entries: AssignedNumber...) {
        self.init(entries)
    }
}

extension BluetoothUUID {
    /// The name that the SIG has given what the UUID stands for, such as `Heart Rate` or `Battery Level`; nil where it has given
    /// none. ``AssignedNumbers/assignment(of:)`` tells what it is that has the name.
    public var name: String? { AssignedNumbers.assignment(of: self)?.name }

    /// The name in a catalog, or else the SIG's.
    public func name(in catalog: Catalog) -> String? { catalog.assignment(of: self)?.name }
}
