internal import BLE
internal import DBus

/// A value for each attribute, grouped by peripheral.
struct AttributeTable<Value> {
    private var values: [Peripheral.ID: [UInt16: Value]] = [:]

    subscript(attribute: AttributeID) -> Value? {
        get { values[attribute.peripheral]?[attribute.handle] }
        set {
            values[attribute.peripheral, default: [:]][attribute.handle] = newValue
            if values[attribute.peripheral]?.isEmpty == true { values[attribute.peripheral] = nil }
        }
    }

    var isEmpty: Bool { values.isEmpty }

    var peripherals: [Peripheral.ID] { Array(values.keys) }

    /// Returns all values of one peripheral.
    func all(of peripheral: Peripheral.ID) -> [(attribute: AttributeID, value: Value)] {
        (values[peripheral] ?? [:]).map { (AttributeID(peripheral: peripheral, handle: $0), $1) }
    }

    mutating func removeAll(of peripheral: Peripheral.ID) { values[peripheral] = nil }
}

/// bluetoothd's object for an attribute.
struct AttributeObject {
    let path: String
    /// The kind of operation that writing the value is: bluetoothd may refuse it itself, without asking the peripheral.
    let writing: BlueZOperation
    /// Reads the whole value of a characteristic. Made with the first read.
    var readCall: MethodCall?
}
