import Testing

@testable import BLE

@Suite struct ScanningTests {
    private static let heartRate = BluetoothUUID(0x180D)
    private static let battery = BluetoothUUID(0x180F)

    @Test(
        arguments: [
            ([], nil),
            ([.any], DiscoveryFilter()),
            ([.service(heartRate)], DiscoveryFilter(services: [heartRate])),
            ([.service(heartRate), .service(battery)], DiscoveryFilter(services: [heartRate, battery])),
            ([.service(heartRate), .service(heartRate)], DiscoveryFilter(services: [heartRate])),
            ([.service(heartRate), .any], DiscoveryFilter()),
            ([DiscoveryCriteria(minimumRSSI: -60)], DiscoveryFilter(minimumRSSI: -60)),
            (
                [DiscoveryCriteria(minimumRSSI: -60), DiscoveryCriteria(minimumRSSI: -80)],
                DiscoveryFilter(minimumRSSI: -80)
            ),
            ([DiscoveryCriteria(minimumRSSI: -60), .any], DiscoveryFilter()),
            (
                [DiscoveryCriteria(services: [heartRate], minimumRSSI: -60), .service(battery)],
                DiscoveryFilter(services: [heartRate, battery])
            ),
            (
                [DiscoveryCriteria(services: [heartRate], minimumRSSI: -60), DiscoveryCriteria(minimumRSSI: -70)],
                DiscoveryFilter(minimumRSSI: -70)
            ),
            // Of several conditions that name services the narrowest is told.
            (
                [.service(heartRate) && DiscoveryCriteria(services: [heartRate, battery]) && .rssi(atLeast: -60)],
                DiscoveryFilter(services: [heartRate], minimumRSSI: -60)
            ),
            ([.rssi(atLeast: -60) && .rssi(-90...(-50))], DiscoveryFilter(minimumRSSI: -60)),
            ([.serviceData(battery), .service(battery)], DiscoveryFilter()),
            (
                [.name("x") && .service(battery), .manufacturer(1) && .service(battery)],
                DiscoveryFilter(services: [battery])
            ),
            ([.transport(.classic)], DiscoveryFilter(transport: .classic)),
            ([.transport(.classic) && .transport(.any)], DiscoveryFilter(transport: .classic)),
            ([.transport(.classic), .any], DiscoveryFilter(transport: .any)),
            ([.transport(.any), .transport(.any)], DiscoveryFilter(transport: .any)),
            // a scan is passive when all are
            ([.passive], DiscoveryFilter(isPassive: true)),
            ([.passive, .any], DiscoveryFilter()),
            ([.passive && .transport(.any)], DiscoveryFilter(transport: .any)),
            (
                [.passive && .manufacturer(1), .passive && .manufacturer(2, [3])],
                DiscoveryFilter(manufacturers: [1, 2], isPassive: true)
            ),
            ([.passive && .manufacturer(1), .passive], DiscoveryFilter(isPassive: true)),
            ([.manufacturer(1)], DiscoveryFilter()),
        ] as [([DiscoveryCriteria], DiscoveryFilter?)])
    func `the backend looks for what any of the scans wants`(_ scans: [DiscoveryCriteria], _ filter: DiscoveryFilter?) {
        var scanning = Scanning()
        for (token, criteria) in scans.enumerated() {
            let tracker = DiscoveryTracker(criteria: criteria, duplicates: false, staleAfter: nil)
            let (_, producer) = BoundedStream.make(of: DiscoveryEvent.self, policy: .dropOldest(capacity: 1))
            scanning.scans[token] = Scanning.Scan(
                tracker: tracker, producer: producer, staleness: nil, started: Outcome())
        }
        #expect(scanning.wanted == filter)
    }
}
