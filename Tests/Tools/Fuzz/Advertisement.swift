// Fuzzed by Scripts/fuzz, which compiles this together with the sources of BLE, BLEProfiles and BLEBTHome.

/// The first byte chooses the meaning of the others: a packet, an AD structure, the data of a company or of a service,
/// or a sealed report and a change to it. A trap is a finding; so is a decoded value that cannot be encoded, or that is
/// encoded differently.
@c(LLVMFuzzerTestOneInput)
public func fuzzAdvertisement(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: data, count: count)
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    switch choice % 10 {
    case 0: fuzzPacket(bytes)
    case 1: fuzzStructure(bytes)
    case 2: fuzzFormat(IBeacon.self, Advertisement(manufacturerData: [0x004C: bytes]), keepsBytes: true)
    case 3: fuzzFormat(Eddystone.self, Advertisement(serviceData: [Eddystone.service: bytes]))
    case 4: fuzzFormat(RuuviTag.self, Advertisement(manufacturerData: [0x0499: bytes]), keepsBytes: true)
    case 5: fuzzFormat(BTHome.self, Advertisement(serviceData: [BTHome.service: bytes]))
    case 6: fuzzSealed(bytes)
    case 7: fuzzFormat(FindHubBeacon.self, Advertisement(serviceData: [Eddystone.service: bytes]), keepsBytes: true)
    case 8: fuzzFormat(LocationTracker.self, Advertisement(serviceData: [LocationTracker.service: bytes]))
    default: fuzzURL(bytes)
    }
    return 0
}

private func fuzzPacket(_ bytes: [UInt8]) {
    guard let data = try? AdvertisingData(decoding: bytes.span) else { return }
    guard let packet = try? data.encode(limit: .chained) else { preconditionFailure("a packet of at most 600 bytes") }
    precondition(packet == Array(bytes.prefix(packet.count)))
    precondition(packet.count == bytes.count || bytes[packet.count] == 0)

    guard let advertisement = try? Advertisement(data) else { return }
    guard let again = try? advertisement.data(), var second = try? Advertisement(again) else {
        // Many short lists of services together make one that is too long.
        precondition(bytes.count > 254)
        return
    }
    second.structures = advertisement.structures
    precondition(second == advertisement)
}

private func fuzzStructure(_ bytes: [UInt8]) {
    guard let type = bytes.first, bytes.count <= AdvertisingStructure.maximumCount else { return }
    let structure = AdvertisingStructure(type: type, bytes: Array(bytes.dropFirst()))
    guard let element = try? AdvertisingElement(structure) else { return }
    guard let encoded = try? AdvertisingStructure(element) else { preconditionFailure("an element that was sent") }
    precondition((try? AdvertisingElement(encoded)) == element)
    // Flags have several forms, and so have intervals in the long form that would fit into the short one.
    let isFree = [0x01, 0x2F].contains(type)
    precondition(isFree || encoded == structure)
}

private func fuzzFormat<Format: AdvertisementDecodable & AdvertisementEncodable & Equatable>(
    _ format: Format.Type, _ advertisement: Advertisement, keepsBytes: Bool = false
) {
    guard let value = try? Format.decode(advertisement) else { return }
    guard let encoded = try? value.advertisement() else { preconditionFailure("what was sent can be sent") }
    precondition((try? Format.decode(encoded)) == value)
    precondition(!keepsBytes || encoded == advertisement)
}

private func fuzzURL(_ bytes: [UInt8]) {
    let url = String(decoding: bytes, as: UTF8.self)
    guard let advertisement = try? Eddystone.url(url, txPower: 0).advertisement() else { return }
    precondition((try? Eddystone.decode(advertisement)) == .url(url, txPower: 0))
}

private let key = BTHomeKey([UInt8](repeating: 0x5A, count: 16))!
private let address: [UInt8] = [1, 2, 3, 4, 5, 6]

/// Seals a report and opens it again, then changes it. The first byte is the position of the change, the second the
/// difference, the others are the objects.
private func fuzzSealed(_ bytes: [UInt8]) {
    guard bytes.count > 2 else { return }
    let plain = Advertisement(serviceData: [BTHome.service: [0x40] + bytes.dropFirst(2)])
    guard let report = try? BTHome.decode(plain), let objects = report.objects else { return }
    guard let sealed = try? report.sealed(key: key, address: address, counter: UInt32(bytes[0])),
        let advertisement = try? sealed.advertisement(), let received = try? BTHome.decode(advertisement)
    else { preconditionFailure("a report that fits") }
    precondition(received == sealed)
    precondition((try? received.objects(key: key, address: address)) == objects)

    guard bytes[1] != 0, var data = advertisement.serviceData[BTHome.service] else { return }
    data[1 + Int(bytes[0]) % (data.count - 1)] ^= bytes[1]
    let changed = try? BTHome.decode(Advertisement(serviceData: [BTHome.service: data]))
    precondition((try? changed?.objects(key: key, address: address)) == nil)
}
