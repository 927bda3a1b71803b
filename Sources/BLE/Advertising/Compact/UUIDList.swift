/// A set of UUIDs in sorted arrays.
///
/// A device has few services, and thousands of devices are remembered: a `Set` of two UUIDs takes three times the
/// memory, and has to hash both to compare them with others.
package struct UUIDList: Hashable, Sendable {
    /// Those with a 16-bit or 32-bit form, which is nearly always all of them.
    private var short: [UInt32] = []
    private var long: [BluetoothUUID] = []

    package init() {}

    /// Creates a list of UUIDs in any order.
    package init(_ uuids: some Collection<BluetoothUUID>) {
        let count = uuids.count { $0.short32 != nil }
        short.reserveCapacity(count)
        long.reserveCapacity(uuids.count - count)
        for uuid in uuids {
            if let number = uuid.short32 { short.append(number) } else { long.append(uuid) }
        }
        Self.arrange(&short)
        Self.arrange(&long)
    }

    /// Sorts the elements, and removes duplicates.
    private static func arrange<Element: Comparable>(_ elements: inout [Element]) {
        let isArranged = zip(elements, elements.dropFirst()).allSatisfy { $0 < $1 }
        guard !isArranged else { return }
        var arranged: [Element] = []
        arranged.reserveCapacity(elements.count)
        for element in elements.sorted() where element != arranged.last { arranged.append(element) }
        elements = arranged
    }

    package var isEmpty: Bool { short.isEmpty && long.isEmpty }
    package var count: Int { short.count + long.count }

    /// The same UUIDs as a set.
    package var set: Set<BluetoothUUID> {
        var set = Set<BluetoothUUID>(minimumCapacity: count)
        for number in short { set.insert(BluetoothUUID(number)) }
        for uuid in long { set.insert(uuid) }
        return set
    }

    package func contains(_ uuid: BluetoothUUID) -> Bool {
        if let number = uuid.short32 { Self.contains(short, number) } else { Self.contains(long, uuid) }
    }

    private static func contains<Element: Comparable>(_ sorted: [Element], _ element: Element) -> Bool {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < element { low = middle + 1 } else { high = middle }
        }
        return low < sorted.count && sorted[low] == element
    }

    package func isDisjoint(with others: Set<BluetoothUUID>) -> Bool {
        if others.count <= count { return others.allSatisfy { !contains($0) } }
        return short.allSatisfy { !others.contains(BluetoothUUID($0)) } && long.allSatisfy { !others.contains($0) }
    }

    package mutating func formUnion(_ others: UUIDList) {
        guard !isEmpty else {
            self = others
            return
        }
        if !others.short.allSatisfy({ Self.contains(short, $0) }) {
            short += others.short
            Self.arrange(&short)
        }
        if !others.long.allSatisfy({ Self.contains(long, $0) }) {
            long += others.long
            Self.arrange(&long)
        }
    }

    package mutating func formUnion(_ others: [BluetoothUUID]) { formUnion(UUIDList(others)) }
}

extension UUIDList: ExpressibleByArrayLiteral {
    package init(arrayLiteral uuids: BluetoothUUID...) { self.init(uuids) }
}
