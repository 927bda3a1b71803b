/// The open writers of a central, by peripheral and characteristic.
struct PacketWriters {
    private var writers: [Peripheral.ID: [AttributeID: PacketWriterCore]] = [:]

    /// Whether a writer on a peripheral is open.
    func isAny(on peripheral: Peripheral.ID) -> Bool { writers[peripheral] != nil }

    mutating func add(_ writer: PacketWriterCore, to attribute: AttributeID) {
        writers[attribute.peripheral, default: [:]][attribute] = writer
    }

    /// Removes a writer, unless another one has taken its place.
    mutating func remove(_ writer: PacketWriterCore, of attribute: AttributeID) {
        guard writers[attribute.peripheral]?[attribute] === writer else { return }
        writers[attribute.peripheral]?[attribute] = nil
        if writers[attribute.peripheral]?.isEmpty == true { writers[attribute.peripheral] = nil }
    }

    /// Removes and returns the writers of a peripheral.
    mutating func removeAll(of id: Peripheral.ID) -> [PacketWriterCore] {
        writers.removeValue(forKey: id).map { Array($0.values) } ?? []
    }

    /// Removes and returns all writers.
    mutating func removeAll() -> [PacketWriterCore] {
        defer { writers = [:] }
        return writers.values.flatMap(\.values)
    }
}
