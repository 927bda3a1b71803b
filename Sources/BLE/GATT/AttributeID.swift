/// The location of an attribute: a peripheral and the handle of a characteristic or descriptor on it.
public struct AttributeID: Hashable, Codable, Sendable {
    /// The peripheral.
    public let peripheral: Peripheral.ID
    /// The attribute handle. For a characteristic, the handle of its declaration.
    public let handle: UInt16

    /// Creates the location of an attribute.
    public init(peripheral: Peripheral.ID, handle: UInt16) {
        self.peripheral = peripheral
        self.handle = handle
    }
}
