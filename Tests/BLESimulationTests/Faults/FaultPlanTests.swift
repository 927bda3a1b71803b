import BLE
import BLETestSupport
import Testing

@testable import BLESimulation

@Suite struct FaultPlanTests {
    private func disturb(_ plan: inout FaultPlan, _ kind: SimulatedEvent.Kind = .read, at id: DeviceID?) -> Int {
        plan.disturbances(of: kind, at: id) { _ in true }.count
    }

    @Test func `a fault that is over or removed is kept by nothing but its owner`() {
        var plan = FaultPlan()
        weak var over: FaultRecord?
        weak var removed: FaultRecord?
        weak var gone: FaultRecord?
        do {
            let (first, second) = (
                plan.add(.hold, to: .read, of: "a", when: .next(1)),
                plan.add(.hold, to: .write, of: nil, when: .always)
            )
            let third = plan.add(.hold, to: .write, of: "b", when: .always)
            (over, removed, gone) = (first, second, third)
            #expect(disturb(&plan, at: "a") == 1)
            #expect(first.count == 1)
            #expect(!first.isActive)
            #expect(second.isActive)
            plan.remove(second)
            plan.forget("b")
            #expect(!second.isActive)
            #expect(plan.isRemoved(third))
        }
        #expect(over == nil)
        #expect(removed == nil)
        #expect(gone == nil)
        #expect(plan.isEmpty)
    }

    @Test func `removing the faults of a peripheral concerns those that are over, and no later ones`() {
        var plan = FaultPlan()
        let over = plan.add(.hold, to: .read, of: "a", when: .next(1))
        let other = plan.add(.hold, to: .read, of: "b", when: .next(1))
        #expect(disturb(&plan, at: "a") == 1)
        plan.removeAll(of: "a")
        let later = plan.add(.hold, to: .read, of: "a", when: .always)
        #expect(plan.isRemoved(over))
        #expect(!plan.isRemoved(other))
        #expect(!plan.isRemoved(later))
        plan.removeAll(of: nil)
        #expect(plan.isRemoved(other))
        #expect(plan.isRemoved(later))
        #expect(!plan.isRemoved(plan.add(.hold, to: .read, of: "b", when: .always)))
    }
}
