// Fuzzed by Scripts/fuzz, which compiles this together with the sources of BLEBlueZ and what that imports.

private let adapter = "/org/bluez/hci0"
private let path = "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5"

/// Packets of the kernel's management socket, each after its length in two bytes. A trap is a finding; so is an
/// advertisement with other bytes than its packet has, one that is credited to another device, and a device of which
/// more and more is kept.
@c(LLVMFuzzerTestOneInput)
public func fuzzManagement(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    var rest = Array(UnsafeBufferPointer(start: data, count: count))[...]
    var tree = ObjectTree()
    var packets = 0
    _ = tree.add(path, .device(DeviceProperties(address: "F0:F1:F2:F3:F4:F5", adapter: adapter, addressType: .random)))
    while rest.count >= 2 {
        let length = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
        let packet = Array(rest.dropFirst(2).prefix(length))
        rest = rest.dropFirst(2 + packet.count)
        packets += 1
        if case .advertisement(let received) = ManagementPacket(packet) { check(received, packet, &tree) }
        precondition(ManagementPacket.adapter(of: packet) != nil || ManagementPacket(packet) == .other)
    }
    precondition(tree.takeForgotten(adapter: adapter).count < max(1, packets))
    return 0
}

private func check(_ received: ReceivedAdvertisement, _ packet: [UInt8], _ tree: inout ObjectTree) {
    precondition(packet.count == 20 + received.data.count && packet.suffix(received.data.count) == received.data)
    precondition(packet[0] == 0x12 && packet[1] == 0 && received.sender.address >> 48 == 0)
    let isFromDevice =
        received.adapter == 0 && received.sender.address == 0xF0F1_F2F3_F4F5 && received.sender.isRandom
    let known = tree.receive(received)
    precondition((known != nil) == isFromDevice)
    guard let heard = known ?? tree.receiveStranger(received) else {
        // The device's address, as the other type.
        precondition(received.adapter == 0 && received.sender.address == 0xF0F1_F2F3_F4F5)
        return
    }
    precondition(heard.id.address == received.sender.address)
    precondition(heard.advertisement.addressType == (received.sender.isRandom ? .random : .public))
    if !isFromDevice { precondition(tree.isStranger(heard.id, adapter: "/org/bluez/hci\(received.adapter)")) }
    precondition(heard.advertisement.rssi == (received.rssi == 127 ? nil : Int(received.rssi)))
    let alone = Advertisement(received: Array(received.data))
    let length = alone.structures.reduce(0) { $0 + 2 + $1.bytes.count }
    precondition(length <= received.data.count)
    precondition(heard.advertisement.structures == alone.structures)
    precondition(alone.hasStructures(of: received.data))
    precondition(heard.advertisement.serviceUUIDs.count <= max(64, alone.serviceUUIDs.count))
    precondition(heard.advertisement.serviceData.count <= max(32, alone.serviceData.count))
    precondition(heard.advertisement.manufacturerData.count <= max(1, received.data.count / 4))
}
