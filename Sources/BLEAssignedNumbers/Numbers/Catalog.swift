public import BLE

/// The numbers of a product, such as its services and characteristics, in addition to the SIG's numbers.
///
/// ```swift
/// let robot: Catalog = [
///     .service(.monitoring, "Monitoring"), .characteristic(.charging, "Charging"),
///     .service(BluetoothUUID(0x8270), "File Exchange"),
/// ]
/// print(uuid.name(in: robot) ?? "unknown")
/// ```
///
/// An entry of the catalog takes precedence over a SIG number with the same number or name. Entries are searched
/// linearly, so a catalog is suitable for tens of entries.
public struct Catalog: Sendable {
    /// The entries of the product.
    public let entries: [AssignedNumber]

    /// Creates a catalog with the given entries. Without entries, it has only the SIG's numbers.
    public init(_ entries: [AssignedNumber] = []) {
        self.entries = entries
    }

    /// Returns the meaning of a UUID. Nil if it is not assigned.
    public func assignment(of uuid: BluetoothUUID) -> AssignedNumber? {
        entries.first { $0.uuid == uuid } ?? AssignedNumbers.assignment(of: uuid)
    }

    /// Returns the name of a company.
    public func company(_ identifier: UInt16) -> String? {
        entries.first { $0.kind == .company && $0.number == identifier }?.name ?? AssignedNumbers.company(identifier)
    }

    /// Returns the numbers with the given name, compared as in ``AssignedNumbers/named(_:_:)``.
    public func named(
        _ name: String, _ kinds: [AssignedNumber.Kind] = AssignedNumber.Kind.allCases
    ) -> [AssignedNumber] {
        let pattern = NamePattern(name)
        return entries.filter { kinds.contains($0.kind) && pattern.isName($0.name) }
            + AssignedNumbers.named(name, kinds)
    }

    /// Returns the numbers whose name contains all of the given parts, compared as in
    /// ``AssignedNumbers/containing(_:_:)``.
    public func containing(
        _ parts: [String], _ kinds: [AssignedNumber.Kind] = AssignedNumber.Kind.allCases
    ) -> [AssignedNumber] {
        let patterns = parts.map(NamePattern.init)
        let own = entries.filter { entry in
            !patterns.isEmpty && kinds.contains(entry.kind) && patterns.allSatisfy { $0.isPart(of: entry.name) }
        }
        return own + AssignedNumbers.containing(parts, kinds)
    }

    /// Returns the service with the given UUID text or name. Nil if it is neither a UUID nor a name.
    public func service(_ text: String) -> BluetoothUUID? {
        BluetoothUUID(text) ?? named(text, [.service]).first?.uuid
    }

    /// Returns the characteristic with the given UUID text or name. Nil if it is neither a UUID nor a name.
    public func characteristic(_ text: String) -> BluetoothUUID? {
        BluetoothUUID(text) ?? named(text, [.characteristic]).first?.uuid
    }
}

extension Catalog: ExpressibleByArrayLiteral {
    /// Creates a catalog with the given entries.
    public init(arrayLiteral entries: AssignedNumber...) {
        self.init(entries)
    }
}

extension BluetoothUUID {
    /// The name that the SIG has assigned to the UUID, such as `Heart Rate` or `Battery Level`. Nil if it is not
    /// assigned. ``AssignedNumbers/assignment(of:)`` also returns its kind.
    public var name: String? { AssignedNumbers.assignment(of: self)?.name }

    /// Returns the name in a catalog, otherwise the SIG's.
    public func name(in catalog: Catalog) -> String? { catalog.assignment(of: self)?.name }
}
