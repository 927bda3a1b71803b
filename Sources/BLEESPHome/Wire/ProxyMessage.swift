/// A message between a proxy and its client, in either direction. Each case names its number.
///
/// `address` is a `DeviceAddress` as a number. `error` is an ATT error, −1 without a link, or why the link ended.
package enum ProxyMessage: Hashable, Sendable {
    /// 1
    case hello(client: String, version: APIVersion)
    /// 2
    case helloAnswer(version: APIVersion, server: String, name: String)
    /// 5
    case disconnect(reason: UInt32)
    /// 6
    case disconnectAnswer
    /// 7
    case ping
    /// 8
    case pingAnswer
    /// 9
    case deviceInfoRequest
    /// 10
    case deviceInfo(ProxyInfo)
    /// 11
    case listEntities
    /// 19
    case listEntitiesDone
    /// 66. Bit 0: raw advertisements.
    case subscribeAdvertisements(flags: UInt32)
    /// 87
    case unsubscribeAdvertisements
    /// 93
    case advertisements([RawAdvertisement])
    /// 126
    case scannerState(ScannerState, mode: ScannerMode, configured: ScannerMode)
    /// 127
    case setScannerMode(ScannerMode)
    /// 68
    case request(DeviceRequest, address: UInt64, addressType: UInt32?)
    /// 69
    case connection(address: UInt64, isConnected: Bool, mtu: UInt32, error: Int32)
    /// 70
    case servicesRequest(address: UInt64)
    /// 71
    case services(address: UInt64, [ProxyService])
    /// 72
    case servicesDone(address: UInt64)
    /// 73
    case read(address: UInt64, handle: UInt32)
    /// 74, also the answer to 76.
    case readAnswer(address: UInt64, handle: UInt32, [UInt8])
    /// 75
    case write(address: UInt64, handle: UInt32, withResponse: Bool, [UInt8])
    /// 83, also the answer to 77.
    case writeAnswer(address: UInt64, handle: UInt32)
    /// 76
    case readDescriptor(address: UInt64, handle: UInt32)
    /// 77
    case writeDescriptor(address: UInt64, handle: UInt32, [UInt8])
    /// 78
    case notify(address: UInt64, handle: UInt32, isEnabled: Bool)
    /// 84
    case notifyAnswer(address: UInt64, handle: UInt32)
    /// 79
    case notification(address: UInt64, handle: UInt32, [UInt8])
    /// 82
    case attributeError(address: UInt64, handle: UInt32, error: Int32)
    /// 80
    case subscribeSlots
    /// 81
    case slots(ProxySlots)
    /// 85
    case paired(address: UInt64, isPaired: Bool, error: Int32)
    /// 86
    case unpaired(address: UInt64, isUnpaired: Bool, error: Int32)
    /// 88
    case cacheCleared(address: UInt64, isCleared: Bool, error: Int32)
    /// 145. Intervals in units of 1.25 ms, the timeout in units of 10 ms.
    case setConnectionParameters(
        address: UInt64, minimum: UInt32, maximum: UInt32, latency: UInt32, timeout: UInt32)
    /// 146
    case connectionParameters(address: UInt64, error: Int32)
    /// 149
    case capabilitiesRequest
    /// 150
    case capabilities(ProxyFeatures, mac: String)
    /// Any other number: this package does nothing with it.
    case other(UInt64)
}
