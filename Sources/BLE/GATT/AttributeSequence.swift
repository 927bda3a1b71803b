/// An attribute as it was discovered: its type and where it is.
public protocol GATTAttribute: Sendable {
    /// The attribute's type. It may occur more than once.
    var uuid: BluetoothUUID { get }
    /// The attribute handle, unique on its peripheral.
    var handle: UInt16 { get }
}

/// A level of the attribute tree: the services of a database, the characteristics of a service, the descriptors of a
/// characteristic.
///
/// A sequence that can also be asked by index, by type and by handle; what is not there is nil.
public protocol AttributeSequence: Sequence, Sendable where Iterator == IndexingIterator<[Attribute]> {
    /// What this level consists of.
    associatedtype Attribute: GATTAttribute
    /// The attributes of this level, in order of handles.
    var attributes: [Attribute] { get }
}

extension AttributeSequence {
    /// Goes through the attributes in order of handles.
    public func makeIterator() -> IndexingIterator<[Attribute]> { attributes.makeIterator() }

    /// How many there are.
    public var count: Int { attributes.count }
    /// True when there are none.
    public var isEmpty: Bool { attributes.isEmpty }
    /// The one with the lowest handle.
    public var first: Attribute? { attributes.first }
    /// The one with the highest handle.
    public var last: Attribute? { attributes.last }

    /// The attribute at an index from 0; nil when there are not so many.
    public subscript(index: Int) -> Attribute? {
        attributes.indices.contains(index) ? attributes[index] : nil
    }

    /// The first attribute of that type.
    public subscript(uuid: BluetoothUUID) -> Attribute? {
        attributes.first { $0.uuid == uuid }
    }

    /// All attributes of that type, in order of handles.
    public subscript(all uuid: BluetoothUUID) -> [Attribute] {
        attributes.filter { $0.uuid == uuid }
    }

    /// The attribute with that handle.
    public subscript(handle handle: UInt16) -> Attribute? {
        attributes.first { $0.handle == handle }
    }
}
