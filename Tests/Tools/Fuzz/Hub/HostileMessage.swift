internal import BLE
internal import BLEESPHome

extension ProxyMessage {
    /// A message of a client, and seldom one of a proxy.
    static func hostile(_ dice: inout Dice, _ addresses: [UInt64]) -> ProxyMessage {
        let address = dice.permille(970) ? dice.pick(addresses) : UInt64(truncatingIfNeeded: dice.number())
        let handle: UInt32 =
            dice.permille(900) ? UInt32(dice.below(16)) : dice.pick([0, 0xFFFF, 0x1_0000, 0x1_0003, .max])
        func request(_ requests: DeviceRequest...) -> ProxyMessage {
            .request(dice.pick(requests), address: address, addressType: dice.pick([nil, 0, 1, .max]))
        }
        func value(_ count: Int) -> [UInt8] { dice.bytes(atMost: dice.permille(900) ? count : 700) }
        switch dice.below(100) {
        case 0..<14: return request(.connect, .connectWithCache, .connectWithoutCache)
        case 14..<20: return request(.disconnect)
        case 20..<24: return request(.pair)
        case 24..<28: return request(.unpair)
        case 28: return request(.clearCache)
        case 29..<34: return .servicesRequest(address: address)
        case 34..<42: return .read(address: address, handle: handle)
        case 42..<52: return .write(address: address, handle: handle, withResponse: dice.permille(500), value(20))
        case 52..<55: return .readDescriptor(address: address, handle: handle)
        case 55..<61:
            let configuration: [[UInt8]] = [[1, 0], [2, 0], [0, 0], [], [1], value(10)]
            return .writeDescriptor(address: address, handle: handle, dice.pick(configuration))
        case 61..<73: return .notify(address: address, handle: handle, isEnabled: dice.permille(550))
        case 73..<77: return .subscribeAdvertisements(flags: UInt32(dice.below(4)))
        case 77..<80: return .unsubscribeAdvertisements
        case 80..<84: return .setScannerMode(dice.pick([.active, .passive]))
        case 84..<86: return .subscribeSlots
        case 86..<88: return dice.pick([.ping, .pingAnswer])
        case 88..<92: return dice.pick([.deviceInfoRequest, .listEntities, .capabilitiesRequest])
        case 92, 93: return .hello(client: String(repeating: "h\u{301}", count: dice.below(90)), version: .current)
        case 94:
            return .setConnectionParameters(
                address: address, minimum: handle, maximum: UInt32(dice.below(4000)), latency: 0, timeout: .max)
        case 95:
            guard dice.permille(100) else { return .ping }
            return dice.pick([.disconnect(reason: handle), .disconnectAnswer])
        case 96: return .other(UInt64(dice.below(70_000)))
        default: return answer(&dice, address, handle)
        }
    }

    /// A message that only a proxy sends.
    private static func answer(_ dice: inout Dice, _ address: UInt64, _ handle: UInt32) -> ProxyMessage {
        switch dice.below(6) {
        case 0: .connection(address: address, isConnected: dice.permille(500), mtu: handle, error: -1)
        case 1: .readAnswer(address: address, handle: handle, dice.bytes(atMost: 30))
        case 2: .advertisements([RawAdvertisement(address: address, rssi: -1, addressType: handle, data: [1])])
        case 3: .slots(ProxySlots(free: handle, limit: .max, allocated: [address]))
        case 4: .paired(address: address, isPaired: true, error: 0)
        default: .servicesDone(address: address)
        }
    }
}

extension [UInt8] {
    /// Changes, removes or adds a byte.
    mutating func change(_ dice: inout Dice) {
        switch dice.below(4) {
        case 0 where !isEmpty: self[dice.below(count)] ^= 1 << UInt8(dice.below(8))
        case 1 where !isEmpty: remove(at: dice.below(count))
        case 2 where !isEmpty: removeLast(dice.below(count))
        default: insert(dice.pick([0, 0x7F, 0x80, 0xFF, dice.byte()]), at: dice.below(count + 1))
        }
    }
}
