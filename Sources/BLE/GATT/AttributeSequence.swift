/// A discovered attribute: its type and its handle.
public protocol GATTAttribute: Sendable {
    /// The attribute's type. It may occur more than once.
    var uuid: BluetoothUUID { get }
    /// The attribute handle, unique on its peripheral.
    var handle: UInt16 { get }
}

/// A level of the GATT hierarchy: the services of a database, the characteristics of a service, or the descriptors of
/// a characteristic.
///
/// The subscripts find attributes by index, type, or handle. They return nil if there is no such attribute, except
/// that `subscript(all:)` returns an empty array.
public protocol AttributeSequence: Sequence, Sendable where Iterator == IndexingIterator<[Attribute]> {
    /// The type of the attributes at this level.
    associatedtype Attribute: GATTAttribute
    /// The attributes of this level, in order of handles.
    var attributes: [Attribute] { get }
}

extension AttributeSequence {
    /// Creates an iterator over the attributes, in order of handles.
    public func makeIterator() -> IndexingIterator<[Attribute]> { attributes.makeIterator() }

    /// The number of attributes.
    public var count: Int { attributes.count }
    /// Whether there are no attributes.
    public var isEmpty: Bool { attributes.isEmpty }
    /// The attribute with the lowest handle.
    public var first: Attribute? { attributes.first }
    /// The attribute with the highest handle.
    public var last: Attribute? { attributes.last }

    /// The attribute at a zero-based index. Nil if the index is out of range.
    public subscript(index: Int) -> Attribute? {
        attributes.indices.contains(index) ? attributes[index] : nil
    }

    /// The first attribute of the given type.
    public subscript(uuid: BluetoothUUID) -> Attribute? {
        attributes.first { $0.uuid == uuid }
    }

    /// All attributes of the given type, in order of handles.
    public subscript(all uuid: BluetoothUUID) -> [Attribute] {
        attributes.filter { $0.uuid == uuid }
    }

    /// The attribute with the given handle.
    public subscript(handle handle: UInt16) -> Attribute? {
        attributes.first { $0.handle == handle }
    }
}
