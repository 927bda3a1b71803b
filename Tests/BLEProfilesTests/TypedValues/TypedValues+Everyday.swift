import BLE
import BLEProfiles

extension TypedValues {
    static let environmental: [TypedValue] = [
        TypedValue(.temperature), TypedValue(.humidity), TypedValue(.pressure), TypedValue(.dewPoint),
        TypedValue(.heatIndex), TypedValue(.windChill), TypedValue(.elevation), TypedValue(.apparentWindSpeed),
        TypedValue(.apparentWindDirection), TypedValue(.trueWindSpeed), TypedValue(.trueWindDirection),
        TypedValue(.gustFactor), TypedValue(.irradiance), TypedValue(.rainfall), TypedValue(.uvIndex),
        TypedValue(.pollenConcentration), TypedValue(.magneticDeclination), TypedValue(.co2Concentration),
        TypedValue(.vocConcentration), TypedValue(.methaneConcentration), TypedValue(.ammoniaConcentration),
        TypedValue(.carbonMonoxideConcentration), TypedValue(.nitrogenDioxideConcentration),
        TypedValue(.nonMethaneVOCConcentration), TypedValue(.ozoneConcentration), TypedValue(.pm1Concentration),
        TypedValue(.pm2_5Concentration), TypedValue(.pm10Concentration), TypedValue(.sulfurDioxideConcentration),
        TypedValue(.sulfurHexafluorideConcentration), TypedValue(.barometricPressureTrend),
        TypedValue(.magneticFluxDensity2D), TypedValue(.magneticFluxDensity3D), TypedValue(.descriptorValueChanged),
    ]

    static let battery: [TypedValue] = [
        TypedValue(.batteryLevel), TypedValue(.batteryLevelStatus), TypedValue(.batteryCriticalStatus),
        TypedValue(.batteryEnergyStatus), TypedValue(.batteryTimeStatus), TypedValue(.batteryHealthStatus),
        TypedValue(.batteryHealthInformation), TypedValue(.batteryInformation), TypedValue(.estimatedServiceDate),
    ]

    static let time: [TypedValue] = [
        TypedValue(.currentTime), TypedValue(.localTimeInformation), TypedValue(.referenceTimeInformation),
        TypedValue(.dayDateTime), TypedValue(.exactTime256), TypedValue(.timeZone), TypedValue(.dstOffset),
    ]

    static let everyday =
        environmental + battery + time + [
            TypedValue(.immediateAlertLevel), TypedValue(.txPowerLevel), TypedValue(.udi), TypedValue(.digital),
            TypedValue(.analog),
        ]
}
