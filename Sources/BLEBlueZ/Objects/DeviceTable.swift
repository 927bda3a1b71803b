internal import BLE
internal import DBus
internal import Waiting

/// bluetoothd's devices by their paths, which are kept as numbers: a program may know thousands of devices.
struct DeviceTable: Sendable {
    typealias Device = ObjectTree.DeviceObject

    /// Changed in place: a device is too large to be copied for each change of the signal strength.
    private var devices: [DevicePath: Boxed<Device>] = [:]
    /// Devices with paths of another form. bluetoothd has none.
    private var others: [String: Boxed<Device>] = [:]

    var count: Int { devices.count + others.count }
    var isEmpty: Bool { count == 0 }

    subscript(path: DevicePath) -> Boxed<Device>? { devices[path] }

    subscript(path: String) -> Boxed<Device>? {
        if let path = DevicePath(path) { devices[path] } else { others[path] }
    }

    /// Changes a device, which may be a new one.
    mutating func update<Result>(_ path: String, _ change: (inout Device) -> Result) -> Result {
        if let path = DevicePath(path) {
            change(&devices[path, default: Boxed(Device(id: path.id))].value)
        } else {
            change(&others[path, default: Boxed(Device(id: Peripheral.ID(devicePath: path)))].value)
        }
    }

    /// Changes a device. Nil if it is not known.
    @discardableResult
    mutating func change<Result>(_ path: String, _ change: (inout Device) -> Result) -> Result? {
        if let path = DevicePath(path) {
            self.change(path, change)
        } else {
            others.index(forKey: path).map { change(&others.values[$0].value) }
        }
    }

    /// Changes a device whose path is in bluetoothd's form. Nil if it is not known.
    mutating func change<Result>(_ path: DevicePath, _ change: (inout Device) -> Result) -> Result? {
        devices.index(forKey: path).map { change(&devices.values[$0].value) }
    }

    /// Changes all devices, in any order.
    mutating func changeAll(_ change: (inout Device) -> Void) {
        // Their indices, if they were held, would share the table, which would be copied.
        var index = devices.startIndex
        while index != devices.endIndex {
            change(&devices.values[index].value)
            devices.formIndex(after: &index)
        }
        for path in Array(others.keys) { self.change(path, change) }
    }

    mutating func remove(_ path: String) -> Boxed<Device>? {
        if let path = DevicePath(path) { devices.removeValue(forKey: path) } else { others.removeValue(forKey: path) }
    }

    /// Returns the path that bluetoothd gives to a device with an address, if there is a device that has reported its
    /// own.
    func path(of id: DeviceID, adapter: String) -> String? {
        if let path = DevicePath(id, adapter: adapter) {
            return devices[path]?.address.isEmpty == false ? path.text : nil
        }
        let path = "\(adapter)/dev_\(String(id.rawValue.map { $0 == ":" ? "_" : $0 }))"
        return self[path]?.address.isEmpty == false ? path : nil
    }

    /// Returns the paths of some devices, in any order.
    func paths(where isIncluded: (Device) -> Bool) -> [String] {
        devices.compactMap { isIncluded($0.value.value) ? $0.key.text : nil }
            + others.compactMap { isIncluded($0.value.value) ? $0.key : nil }
    }

    /// Transforms all devices, in any order.
    func compactMap<Result>(_ transform: (Device) -> Result?) -> [Result] {
        var results: [Result] = []
        results.reserveCapacity(count)
        for device in devices.values { if let result = transform(device.value) { results.append(result) } }
        for device in others.values { if let result = transform(device.value) { results.append(result) } }
        return results
    }
}

/// The path of a device in bluetoothd's form, `/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5`, in eight bytes.
struct DevicePath: Hashable {
    /// The adapter's number, and below it the 48 bits of the address.
    private let number: UInt64

    private static let beginning: StaticString = "/org/bluez/hci"
    private static let middle: StaticString = "/dev_"
    private static let addressLength = 17

    /// Nil for a path of another form.
    init?(_ path: String) {
        var path = path
        guard let number = path.withUTF8({ Self.number(UnsafeRawBufferPointer($0)) }) else { return nil }
        self.number = number
    }

    /// Nil for a path of another form.
    init?(_ path: MessageString) {
        guard let number = Self.number(path.utf8) else { return nil }
        self.number = number
    }

    /// - Parameters:
    ///   - address: a number of 48 bits, the first octet the most significant.
    ///   - adapter: the number of the adapter: 0 for `hci0`.
    init(_ address: UInt64, adapter: UInt16) {
        precondition(address >> 48 == 0, "an address has 48 bits")
        number = UInt64(adapter) << 48 | address
    }

    /// Nil if the path has another form.
    init?(_ id: DeviceID, adapter: String) {
        var adapter = adapter
        guard let number = adapter.withUTF8({ Self.adapter(UnsafeRawBufferPointer($0)) }), let address = id.address
        else { return nil }
        self.number = number << 48 | address
    }

    private static func number(_ path: UnsafeRawBufferPointer) -> UInt64? {
        let start = path.count - addressLength
        let end = start - middle.utf8CodeUnitCount
        guard end > 0, MessageString(UnsafeRawBufferPointer(rebasing: path[end...])).hasPrefix(middle),
            let adapter = adapter(UnsafeRawBufferPointer(rebasing: path[..<end])),
            let address = DeviceID.octets(
                UnsafeRawBufferPointer(rebasing: path[start...]), separators: (UInt8(ascii: "_"), UInt8(ascii: "_")),
                acceptsLowercase: false)
        else { return nil }
        return adapter << 48 | address
    }

    /// Returns the number in the path of an adapter. Nil if it is too large, or has leading zeros.
    private static func adapter(_ path: UnsafeRawBufferPointer) -> UInt64? {
        let start = beginning.utf8CodeUnitCount
        guard MessageString(path).hasPrefix(beginning), (1...5).contains(path.count - start),
            path.count == start + 1 || path[start] != UInt8(ascii: "0")
        else { return nil }
        var number: UInt64 = 0
        for index in start..<path.count {
            let digit = path[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number * 10 + UInt64(digit)
        }
        return number <= UInt16.max ? number : nil
    }

    /// The first octet is the most significant one of 48 bits.
    var address: UInt64 { number & 0xFFFF_FFFF_FFFF }
    /// The number of the adapter: 0 for `hci0`.
    var adapter: UInt16 { UInt16(number >> 48) }
    var id: DeviceID { DeviceID(address: address) }

    var text: String {
        "/org/bluez/hci" + String(number >> 48) + "/dev_" + DeviceID.notation(address, separator: UInt8(ascii: "_"))
    }
}
